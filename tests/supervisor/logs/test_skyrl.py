import pytest
from support.log_oracle import Rows, read, rows_of

HEAD = "2026-03-26 14:51:18.430 | INFO     | skyrl.train.trainer:train:227 - "
LOSSES = HEAD + "{'policy_loss': 0.5, 'policy_lr': 1e-06}\n"
ROW = {"policy_loss": 0.5, "policy_lr": 1e-06}


def rows(text: str) -> Rows:
    return rows_of(read("skyrl", ("stdout", text.encode())).columns)


def test_a_step_that_failed_is_no_row() -> None:
    assert rows(f"{HEAD}Finished: 'policy_train', time cost: 17.14s\nTraceback\n") == []


def test_what_was_measured_belongs_to_the_losses_behind_it() -> None:
    timer = f"{HEAD}Finished: 'generate', time cost: "
    assert rows(f"{timer}1.50s\n{LOSSES}{timer}2.50s\n{LOSSES}") == [
        (-1, {"timing/generate": 1.5, **ROW}),
        (-1, {"timing/generate": 2.5, **ROW}),
    ]


def test_rows_without_a_step_give_way_to_rows_with_one() -> None:
    block = f"{HEAD}Step 1: \n{{'policy/final_loss': '0.5000'}}\n"
    assert rows(LOSSES + block + LOSSES) == [(1, {"policy/final_loss": 0.5})]


def test_a_dictionary_without_its_end_gives_what_was_printed() -> None:
    block = f"{HEAD}Step 1: \n{{'policy/final_loss': '0.5000',\n 'policy/policy_kl': '0.2500',\nTraceback\n 'x': 5}}\n"
    assert rows(block) == [(1, {"policy/final_loss": 0.5, "policy/policy_kl": 0.25})]
    assert rows(f"{HEAD}Step 1: \nTraceback\n{{'x': 5}}\n") == []


def test_a_step_needs_its_logger_in_front() -> None:
    assert rows("Step 1: \n{'policy/final_loss': '0.5000'}\n") == []
    assert rows("{'policy_loss': 0.5, 'policy_lr': 1e-06}\n") == []
    assert rows(f"{HEAD}{{'policy_loss': 0.5, 'beta': 1e-06}}\n") == []


@pytest.mark.parametrize("label", ["Training Batches Processed", "Training Step Progress"])
def test_progress(label: str) -> None:
    reader = read("skyrl", ("stderr", f"\r{label}:  14%|█▍        | 1/7 [22:36<2:15:37]\r".encode()))
    assert (reader.step, reader.steps_total, reader.training_complete) == (1, 7, False)


def test_values_that_wait_are_bounded() -> None:
    text = "".join(f"{HEAD}Finished: 'timer {number}', time cost: 1.0s\n" for number in range(3000))
    ((_, row),) = rows(text + LOSSES)
    assert len(row) == 1002
