import pytest
from support.log_oracle import Rows, read, rows_of

HEAD = "[2026-08-19 12:00:00] [rlvr_pipeline.py (838)] [INFO] [DRIVER 0 / 1][PID 42] "
METRICS = '"critic/kl": 0.5, "actor/lr": 1e-06, "time/step_train": 2.5'
ROW = {"critic/kl": 0.5, "actor/lr": 1e-06, "time/step_train": 2.5}


def rows(text: str) -> Rows:
    return rows_of(read("roll", ("stdout", text.encode())).columns)


def test_where_the_step_is_from() -> None:
    assert rows(f'{HEAD}{{{METRICS}, "system/global_step": 7}}\n') == [(7, {**ROW, "system/global_step": 7.0})]
    assert rows(f"{HEAD}pipeline step 4 start...\n{HEAD}{{{METRICS}}}\n") == [(4, ROW)]
    assert rows(f"{HEAD}{{{METRICS}}}\n") == [(-1, ROW)]


def test_both_copies_of_a_step_are_one_row() -> None:
    text = f'{HEAD}metrics_tag: {{"step": 7, "metrics": {{{METRICS}}}}}\n{HEAD}{{{METRICS}, "system/global_step": 7}}\n'
    assert [step for step, _ in rows(text)] == [7]


def test_a_step_is_done_when_it_is_said_so() -> None:
    reader = read("roll", ("stdout", f"{HEAD}pipeline step 4 start...\n".encode()))
    steps = [reader.step]
    reader.feed(f"{HEAD}pipeline step 4 finished\n".encode())
    assert [*steps, reader.step] == [None, 4]
    assert not reader.training_complete


@pytest.mark.parametrize(
    "line",
    [
        f"{{{METRICS}}}",
        HEAD + '{"prompt": "x", "response": "y"}',
        HEAD + '{"a": 1, "b": 2, "c": 3}',
        HEAD + '{"critic/kl": 0.5}',
        HEAD + f"{{{METRICS}",
        HEAD + 'metrics_tag: {"step": 7, "metrics": [1]}',
        HEAD + f'metrics_tag: {{"step": 7, {METRICS}}}',
    ],
)
def test_other_lines_are_no_records(line: str) -> None:
    assert rows(line + "\n") == []
