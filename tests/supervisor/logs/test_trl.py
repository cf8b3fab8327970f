import math

import pytest
from support.log_oracle import Rows, read, rows_of

BAR = "\r 35%|███▌      | 7/20 [00:01<00:03,  4.05it/s]"


def rows(text: str, logging_steps: int | None = 1) -> Rows:
    return rows_of(read("trl", ("stdout", text.encode()), logging_steps=logging_steps).columns)


def test_transformers_4_prints_bare_numbers() -> None:
    ((step, row),) = rows("{'loss': -0.0, 'grad_norm': inf, 'kl': nan, 'learning_rate': 1e-06, 'epoch': 0.06}\n")
    assert step == 1
    assert math.isnan(row.pop("kl"))
    assert row == {"loss": 0.0, "grad_norm": math.inf, "learning_rate": 1e-06, "epoch": 0.06}


def test_transformers_5_prints_quoted_numbers() -> None:
    ((_, row),) = rows("{'loss': '-0.02034', 'grad_norm': 'nan', 'kl': None, 'num_tokens': '1.474e+04'}\n")
    assert math.isnan(row.pop("grad_norm"))
    assert row == {"loss": -0.02034, "num_tokens": 14740.0}


@pytest.mark.parametrize(
    "before", ["", BAR, "[default0]:", "host: [rank0]: ", " 80% 4/5 [01:59<00:23, 23.59s/it]", "\x1b[1;37m"]
)
@pytest.mark.parametrize("after", ["\n", "\r\n", "Traceback (most recent call last):\n", BAR + "\r"])
def test_what_is_glued_to_a_dict(before: str, after: str) -> None:
    assert rows(f"{before}{{'loss': '0.5', 'epoch': '1'}}{after}") == [(1, {"loss": 0.5, "epoch": 1.0})]


def test_any_reward_function_name_is_a_key() -> None:
    ((_, row),) = rows("{'rewards/org/model-1.5 (x)/mean': 0.5, \"rewards/it's/mean\": 0.25, 'loss': 0.0}\n")
    assert row == {"rewards/org/model-1.5 (x)/mean": 0.5, "rewards/it's/mean": 0.25, "loss": 0.0}


def test_metrics_of_the_users_own_are_kept() -> None:
    text = "{'loss': 0.5, 'mine': np.float64(0.25), 'note': 'long text, with a comma', 'epoch': 1.0}\n"
    assert rows(text) == [(1, {"loss": 0.5, "mine": 0.25, "epoch": 1.0})]


@pytest.mark.parametrize(
    "line",
    [
        "{'loss': 'grpo', 'beta': 0.04, 'epoch': 'last'}",
        "{'prompt': 'one', 'completion': 'two', 'reward': 0.5}",
        "config: {'algorithm': {'kl': 0.1, 'gamma': 1.0}}",
        "[{'loss': 0.5, 'epoch': 1.0, 'step': 10}, {'loss': 0.4, 'epoch': 2.0, 'step': 20}]",
        " 'trainer': {'loss': 0.5, 'epoch': 1.0},",
        '{"loss": 0.5, "epoch": 1.0}',
        "{'eval_loss': 0.5, 'eval_reward': 0.25, 'epoch': 1.0}",
        "{'final_loss': 0.1, 'policy_lr': 1e-06, 'grad_norm': 0.37}",
        "{'learning_rate': 0.1, 'epoch': 1.0}",
        "{'loss': 0.5, 'epoch': 1.0",
        "the loss is {loss}",
        "{}",
    ],
)
def test_other_dicts_are_no_records(line: str) -> None:
    assert rows(line + "\n") == []


def test_a_record_of_missing_values_still_counts() -> None:
    text = "{'loss': None, 'kl': None}\n{'loss': '0.5', 'kl': None}\n"
    assert rows(text) == [(1, {}), (2, {"loss": 0.5})]


@pytest.mark.parametrize(("every", "steps"), [(1, [1, 2]), (10, [10, 20]), (None, [-1, -1]), (0, [-1, -1])])
def test_steps_are_counted_or_unknown(every: int | None, steps: list[int]) -> None:
    text = "{'loss': 0.5, 'epoch': 1.0}\n{'eval_loss': 0.5, 'epoch': 1.0}\n{'loss': 0.25, 'epoch': 2.0}\n"
    assert [step for step, _ in rows(text, every)] == steps


def test_the_final_dict_is_no_row() -> None:
    text = b"{'loss': '0', 'epoch': '1'}\n{'train_runtime': '3.4', 'train_loss': '-0.02', 'epoch': '1.25'}\n"
    reader = read("trl", ("stdout", text))
    assert reader.training_complete
    assert rows_of(reader.columns) == [(-1, {"loss": 0.0, "epoch": 1.0})]


def test_train_runtime_alone_is_not_the_end() -> None:
    reader = read("trl", ("stdout", b"{'loss': '0', 'train_runtime': '3.4', 'epoch': '1'}\n"))
    assert not reader.training_complete
    assert len(reader.columns) == 1


def test_the_bar_tells_step_and_total_before_its_line_ends() -> None:
    reader = read("trl", ("stderr", b"\rLoading weights: 100%|##| 26/26 [00:00<00:00, 5239.86it/s]\n"))
    assert (reader.step, reader.steps_total) == (None, None)
    reader.feed(b"\r  0%|          | 0/20 [00:00<?, ?it/s]", stream="stderr")
    assert (reader.step, reader.steps_total) == (0, 20)
    reader.feed(b"\r 35%|\xe2\x96\x88\xe2\x96\x88      | 7/2", stream="stderr")
    assert (reader.step, reader.steps_total) == (0, 20)
    reader.feed(b"0 [00:01", stream="stderr")
    assert (reader.step, reader.steps_total, reader.phase) == (7, 20, None)


def test_the_dicts_may_be_ahead_of_the_bar() -> None:
    reader = read("trl", ("stdout", b"{'loss': '0', 'epoch': '1'}\n"), logging_steps=10)
    reader.feed(BAR.encode(), stream="stderr")
    assert (reader.step, reader.steps_total) == (10, 20)


def test_the_bar_of_an_evaluation_is_not_the_runs() -> None:
    reader = read("trl", ("stderr", BAR.encode()), ("stdout", b"{'loss': '0', 'epoch': '1'}\n"))
    reader.feed(b"\r  0%|   | 0/5 [00:00<?, ?it/s]\r100%|###| 5/5 [00:00<00:00, 9.1it/s]\r", stream="stderr")
    assert (reader.step, reader.steps_total) == (7, 20)


def test_a_bar_that_ended_before_training_is_forgotten() -> None:
    reader = read("trl", ("stderr", b"\r  0%| | 0/64 [00:00<?]\r100%|#| 64/64 [00:00<00:00]\n\r  0%| | 0/20 [00:00<?]"))
    assert (reader.step, reader.steps_total) == (0, 20)
