"""ms-swift tells the step in the dict; it appends the same as JSON to a file."""

import math

import pytest
from support.log_oracle import read, rows_of

CONSOLE = (
    "{'loss': 0.5, 'grad_norm': 0.0, 'memory(GiB)': 5.78, 'train_speed(iter/s)': 0.0322, 'reward': 0.25, 'epoch': 0.0, "
    "'global_step/max_steps': '5/594', 'percentage': '0.17%', 'elapsed_time': '21s', 'remaining_time': '3h 28m 19s'}\n"
)
ROW = (
    '{"loss": 0.5, "grad_norm": NaN, "reward": 0.25, "epoch": 0.0, "global_step/max_steps": "5/594", '
    '"elapsed_time": "21s", "memory(GiB)": 5.78}\n'
)


@pytest.mark.parametrize("framework", ["auto", "ms-swift", "trl"])
def test_the_step_is_in_the_dict(framework: str) -> None:
    bar = "\rTrain:   0%|   | 1/594 [00:21<3:28:13, 21.07s/it]"
    reader = read(framework, ("stdout", (bar + "\r" + CONSOLE + bar + "\n").encode()), logging_steps=10)
    assert (list(reader.columns.steps), reader.step, reader.steps_total) == ([5], 5, 594)
    assert reader.columns.row(0) == {
        "loss": 0.5, "grad_norm": 0.0, "memory(GiB)": 5.78, "train_speed(iter/s)": 0.0322, "reward": 0.25, "epoch": 0.0
    }  # fmt: skip


def test_megatron_calls_it_iteration() -> None:
    text = CONSOLE.replace("global_step/max_steps", "iteration")
    assert list(read("trl", ("stdout", text.encode())).columns.steps) == [5]


def test_rows_of_the_file() -> None:
    end = ROW.replace('"loss": 0.5', '"train_loss": 0.5, "train_runtime": 21.0').replace("5/594", "594/594")
    evaluation = ROW.replace('"loss": 0.5', '"eval_loss": 0.75').replace("5/594", "6/594")
    reader = read("auto", ("stdout", (ROW + evaluation + end + '{"log_history": [' + ROW + "]}\n").encode()))
    ((step, row), (at, validation)) = rows_of(reader.columns)
    assert (step, at, reader.step, reader.steps_total) == (5, 6, 594, 594)
    assert (reader.framework, reader.training_complete) == ("ms-swift", True)
    assert math.isnan(row.pop("grad_norm"))
    assert row == {"loss": 0.5, "reward": 0.25, "epoch": 0.0, "memory(GiB)": 5.78}
    assert validation["val/loss"] == 0.75


@pytest.mark.parametrize("text", ['{"iteration": "3/10"}\n', "{'iteration': '3/10', 'lr': 0.5}\n", '{"loss": 0.5}\n'])
def test_a_step_alone_is_no_record(text: str) -> None:
    assert len(read("trl", ("stdout", text.encode())).columns) == 0


def test_dicts_without_a_step_are_left_to_trl() -> None:
    assert read("auto", ("stdout", b"{'loss': 0.5, 'epoch': 1.0}\n")).framework == "trl"
