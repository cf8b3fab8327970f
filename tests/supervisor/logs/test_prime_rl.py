import math

import pytest
from support.log_oracle import Rows, read, rows_of


def rows(text: str) -> Rows:
    return rows_of(read("prime-rl", ("stdout", text.encode())).columns)


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [
        ("450ms", 0.45),
        ("22.5s", 22.5),
        ("1m 5s", 65.0),
        ("1h 5m", 3900.0),
        ("1d 2h", 93600.0),
        ("Time: 64.20s", 64.2),
    ],
)
def test_times(printed: str, seconds: float) -> None:
    ((_, row),) = rows(f"12:00:00 SUCCESS Step 1 | {printed:>7} | Loss 0.5\n")
    assert row == {"step_time": pytest.approx(seconds, rel=1e-12), "Loss": 0.5}


def test_trainer_and_orchestrator_have_a_time_each() -> None:
    text = "x SUCCESS Step 3 | 2.0s | Loss 0.5\nx SUCCESS Step 3 | 5.0s | Reward 0.25\n"
    assert rows(text) == [(3, {"step_time": 2.0, "Loss": 0.5, "orchestrator/step_time": 5.0, "Reward": 0.25})]


def test_names_and_units() -> None:
    fields = (
        "Loss nan",
        "Grad. Norm 0.5",
        "Peak Mem. 89.6 GiB",
        "Max Off-Policy 2",
        "Error 20.0%",
        "Policy v5",
        "LR 1.00e-06",
    )
    ((_, row),) = rows(f"x SUCCESS Step 3 | {' | '.join(fields)}\n")
    assert math.isnan(row.pop("Loss"))
    assert row == {"Grad. Norm": 0.5, "Peak Mem.": 89.6, "Max Off-Policy": 2.0, "Error": 20.0, "LR": 1e-06}


@pytest.mark.parametrize(
    "line",
    [
        "- 04:57:44 orchestrator Step 1: `13m 16s | Reward 0.7812`",
        "12:00:00 SUCCESS Orchestrator step loop done in 2m 35s",
        "12:00:00 SUCCESS Step 1 | waiting",
        "12:00:00 SUCCESS Step 1 | Turns 3.0",
        "12:00:00 WARNING Step 1 | Reward 0.5",
        '{"step": 1, "loss": 0.5}',
        '{"step": 1.5, "time": 5, "loss": 0.5}',
        '{"step": 1, "time": 5, "loss": 0.5',
    ],
)
def test_other_lines_are_no_records(line: str) -> None:
    assert rows(line + "\n") == []


@pytest.mark.parametrize("end", ["Training finished!", "RL trainer finished!", "Orchestrator finished."])
def test_complete(end: str) -> None:
    assert read("prime-rl", ("stdout", f"12:00:00 SUCCESS {end}\n".encode())).training_complete
    assert not read("prime-rl", ("stdout", f"12:00:00 INFO {end}\n".encode())).training_complete
