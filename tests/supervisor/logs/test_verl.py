import math

import pytest
from support.log_oracle import Rows, read, rows_of

PREFIX = "\x1b[36m(TaskRunner pid=42)\x1b[0m "


def rows(text: str) -> Rows:
    return rows_of(read("verl", ("stdout", text.encode())).columns)


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        PREFIX,
        "(main_task pid=7) ",
        "(TaskRunnerV1 pid=1607, ip=172.26.135.50) ",
        "(pid=15334) ",
        "Training Progress:  25%|##| 1/4 [00:05<00:15,  5.1s/it]",
        "(TaskRunner pid=4) \rTraining Progress:  25%|##| 1/4 [00:05<00:15,  5.1s/it]",
        "INFO:step 3 ",
    ],
)
def test_what_stands_in_front_of_a_record(prefix: str) -> None:
    assert rows(f"{prefix}step:2 - actor/lr:1e-06 - x:1\n") == [(2, {"actor/lr": 1e-06, "x": 1.0})]


@pytest.mark.parametrize(
    "suffix",
    [
        "(TaskRunnerV1 pid=1) INFO:2026 - loss:7",
        "(WorkerDict pid=1607, ip=172.26.135.50) step",
        " [repeated 3x across cluster]",
        "\x1b[32m [repeated 3x across cluster]\x1b[0m",
        "\rTraining Progress:  25%|##| 1/4 [00:05<00:15,  5.1s/it]",
    ],
)
def test_what_is_glued_behind_a_record(suffix: str) -> None:
    assert rows(f"step:2 - x:np.int64(0){suffix}\n") == [(2, {"x": 0.0})]


def test_two_records_on_one_line() -> None:
    text = "step:1 - x:1.5step:2 - x:2.5(TaskRunner pid=4) step:3 - training/global_step:3 - x:3.5\n"
    assert rows(text) == [(1, {"x": 1.5}), (2, {"x": 2.5}), (3, {"training/global_step": 3.0, "x": 3.5})]


def test_the_last_colon_of_a_key_splits() -> None:
    assert rows("step:1 - complexkey/with:colon/mean@1:0.25\n") == [(1, {"complexkey/with:colon/mean@1": 0.25})]


def test_values_of_all_versions() -> None:
    ((_, row),) = rows("step:1 - a:0.098 - b:np.float64(-0.5) - c:True - d:nan - e:-inf - f:-0.0 - g:None - h:\n")
    assert math.isnan(row.pop("d"))
    assert row == {"a": 0.098, "b": -0.5, "c": 1.0, "e": -math.inf, "f": 0.0}
    assert math.copysign(1, row["f"]) == -1


@pytest.mark.parametrize(
    "line",
    [
        "step:5 - the loss is now: 3",
        "global_step:5 - x:1",
        "train/step:5 - x:1",
        "step:5 -x:1",
        "step: 5 - x:1",
        "step:5 - x:y",
        "step:99999999999999999999 - x:1",
    ],
)
def test_prose_is_no_record(line: str) -> None:
    assert rows(line + "\n") == []


def test_a_record_counts_when_its_line_has_ended() -> None:
    reader = read("verl", ("stdout", b"step:5 - x:1"))
    assert rows_of(reader.columns) == []
    reader.feed(b"23\n")
    assert rows_of(reader.columns) == [(5, {"x": 123.0})]


def test_a_key_with_spaces_needs_a_slash() -> None:
    assert rows("step:1 - val-core/my data/acc:0.5\n") == [(1, {"val-core/my data/acc": 0.5})]


def test_validation_merges_into_the_step() -> None:
    assert rows("step:1 - x:1\nstep:1 - val-core/a/acc/mean@1:0.5\nstep:2 - x:2\n") == [
        (1, {"x": 1.0, "val-core/a/acc/mean@1": 0.5}),
        (2, {"x": 2.0}),
    ]


def test_total_and_progress() -> None:
    reader = read("verl", ("stdout", f"{PREFIX}Total training steps: 40\n".encode()))
    assert (reader.step, reader.steps_total, reader.training_complete) == (None, 40, False)
    reader.feed(b"step:3 - x:1\n")
    reader.feed(b"\rTraining Progress:   5%|5         | 2/40 [00:03<01:01,  1.63s/it]\n", stream="stderr")
    assert reader.step == 3
    reader.feed(b"\rTraining Progress:  10%|5         | 4/40 [00:03<01:01,  1.63s/it]\n", stream="stderr")
    assert (reader.step, reader.steps_total, reader.phase) == (4, 40, None)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("Total training steps: 2\nstep:1 - x:1\n", False),
        ("Total training steps: 2\nstep:2 - x:1\n", True),
        ("step:2 - x:1\nTraining Progress: 100%|##| 2/2 [00:03<00:00,  1.63s/it]\n", True),
        ("Training Progress: 100%|##| 2/2 [00:03<00:00,  1.63s/it]\n", False),
        ("Total training steps: 0\nstep:0 - x:1\n", False),
        (f"{PREFIX}(\"Final validation metrics: {{'val-core/a/acc/mean@1': \"\n", True),
        ("Initial validation metrics: {}\n", False),
    ],
)
def test_complete_is_the_logs_word(text: str, *, complete: bool) -> None:
    assert read("verl", ("stdout", text.encode())).training_complete is complete


def test_either_stream_may_carry_the_lines() -> None:
    reader = read("verl", ("stderr", b"step:1 - x"), ("stdout", b"step:2 - x:2\n"), ("stderr", b":1\n"))
    assert rows_of(reader.columns) == [(2, {"x": 2.0}), (1, {"x": 1.0})]
