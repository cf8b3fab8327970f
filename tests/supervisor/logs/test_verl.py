import math
from collections.abc import Iterable, Iterator
from pprint import pformat

import pytest
from support.log_oracle import Rows, read, rows_of

from grpotui_supervisor.logs import verl as module
from grpotui_supervisor.logs.verl_text import Record, records

PREFIX = "\x1b[36m(TaskRunner pid=42)\x1b[0m "
MEMORY = (
    "(WorkerDict pid=2) Rank 0 After {}, memory allocated (GB): 7.49, memory reserved (GB): 17.19, "
    "device memory used/total (GB): 22.81/79.15"
)
DRAWN = "\rTraining Progress: "
BAR = f"{DRAWN}100%|##| 9/9 [00:03<00:00,  1.63s/it]\n"


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
        "step:5 - first we compute the mean - actor/lr:1e-06",
        "In the log, step:5 - x:1 is the last record",
        "we then see step:5 - x:1",
        "'step:5 - actor/lr:1e-06'",
        '{"line": "step:5 - actor/lr:1e-06"}',
        "{'step': 5, 'actor/lr': 1e-06}",
        "config=step:5 - actor/lr:1e-06",
        '  File "/verl/trainer.py", line 12, in step:5 - actor/lr',
        "[response] step: first we compute 5 - 3 = 2",
        MEMORY.format("step"),
        "'trainer': {'total_training_steps': 5, 'test_freq': 10},",
    ],
)
@pytest.mark.parametrize("before", ["", PREFIX])
def test_prose_is_no_record(before: str, line: str) -> None:
    known = (
        "step:1 - actor/lr:1e-06\nnothing\nstep:2 - actor/lr:1e-06\nnothing\n"  # a compiled layout must not fall for it
    )
    assert rows(f"{before}{line}\n") == []
    assert [step for step, _ in rows(f"{known}{before}{line}\n")] == [1, 2]


def test_a_key_without_a_slash_needs_a_line_of_its_own() -> None:
    assert rows("says: step:5 - x:1\n") == []
    assert rows("says: step:5 - x:1 - a/b:2\n") == [(5, {"x": 1.0, "a/b": 2.0})]
    assert rows(f"{PREFIX}step:5 - x:1\n") == [(5, {"x": 1.0})]


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
    assert (reader.step, reader.steps_total) == (4, 40)


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


def repeat(steps: Iterable[int], reward: float, *, every: int = 0) -> str:
    validated = {step for step in steps if every and step % every == 0}
    return "".join(
        f"{PREFIX}step:{step} - reward/mean:{reward} - actor/lr:1e-06"
        + (" - val-core/a/acc/mean@1:0.5" if step in validated else "")
        + "\n"
        for step in steps
    )


def test_a_resumed_run_is_one_curve_and_keeps_what_was_lost() -> None:
    reader = read("verl", ("stdout", (repeat(range(1, 8), 0.1) + repeat(range(5, 10), 0.2)).encode()))
    columns = reader.columns
    assert list(columns.steps) == [1, 2, 3, 4, 5, 6, 7, 5, 6, 7, 8, 9]
    assert columns.restarts == [(7, 5)]
    assert [columns.steps[row] for row in columns.curve()] == list(range(1, 10))
    assert [columns.row(row)["reward/mean"] for row in columns.curve()] == [0.1] * 4 + [0.2] * 5


def test_a_resumed_run_shows_its_own_step() -> None:
    total = "Total training steps: 9\n"
    reader = read("verl", ("stdout", (total + repeat(range(1, 10), 0.1)).encode()), ("stderr", BAR.encode()))
    assert (reader.step, reader.training_complete) == (9, True)
    reader.feed(repeat(range(4, 6), 0.2).encode())
    assert (reader.step, reader.training_complete, reader.columns.last("reward/mean")) == (5, False, 0.2)


def test_two_runs_in_one_file() -> None:
    again = "crashed\nTotal training steps: 9\n"  # is not looked for, since the first run told its own and did not end
    text = "Total training steps: 4\n" + repeat(range(5), 0.1) + again + repeat(range(3), 0.2)
    for reader in (read("verl", ("stdout", text.encode())), read("verl", *(("stdout", b.encode()) for b in text))):
        assert list(reader.columns.steps) == [0, 1, 2, 3, 4, 0, 1, 2]
        assert reader.columns.restarts == [(5, 0)]
        assert list(reader.columns.curve()) == [5, 6, 7]
        assert (reader.step, reader.steps_total, reader.training_complete) == (2, None, False)


def test_the_bar_of_a_resumed_run_tells_its_steps() -> None:
    bar = f"{DRAWN}  0%|  | 4/20 [00:03<00:00,  1.63s/it]\n"
    text = "Total training steps: 9\n" + repeat(range(8), 0.1) + bar + repeat(range(5, 10), 0.2)
    reader = read("verl", ("stdout", text.encode()))
    assert (reader.step, reader.steps_total, reader.training_complete) == (9, 20, False)


def test_a_second_run_behind_a_finished_one() -> None:
    final = "Final validation metrics: {'val-core/a/acc/mean@1': 0.5}\n"
    text = "Total training steps: 4\n" + repeat(range(5), 0.1) + final + "Total training steps: 9\n"
    reader = read("verl", ("stdout", text.encode()))
    assert (reader.steps_total, reader.training_complete) == (9, True)
    reader.feed(repeat(range(6), 0.2).encode())
    assert (reader.step, reader.training_complete) == (5, False)


def test_the_final_validation_is_found_where_the_run_ends() -> None:
    text = "Total training steps: 9\n" + repeat(range(10), 0.1) + "Final validation metrics: {'val-aux/a': 0.5}\n"
    for reader in (read("verl", ("stdout", text.encode())), read("verl", *(("stdout", b.encode()) for b in text))):
        assert reader.columns.row(-1)["val-aux/a"] == 0.5


def test_a_carriage_return_ends_a_line_within_a_known_layout() -> None:
    known = "".join(f"step:{step} - a/b:1 - c/d:2\nother\n" for step in (1, 2, 3))
    for torn in ("step:4 - a/b:\r1 - c/d:2", "step:4 - \ra/b:1 - c/d:2"):
        assert [step for step, _ in rows(f"{known}{torn}\n")] == [1, 2, 3]
    assert rows(f"{known}step:4 - a/b:1 - c/d:2\r\n")[3:] == [(4, {"a/b": 1.0, "c/d": 2.0})]


def test_a_late_validation_is_no_restart() -> None:
    text = repeat(range(1, 5), 0.1) + "step:2 - val-core/a/acc/mean@1:0.5\n" + repeat(range(5, 7), 0.1)
    reader = read("verl", ("stdout", text.encode()))
    assert reader.columns.restarts == []
    assert list(reader.columns.steps) == [1, 2, 3, 4, 5, 6]
    assert reader.columns.row(1)["val-core/a/acc/mean@1"] == 0.5


def test_several_records_of_one_step_are_one_row() -> None:
    one = "step:{0} - a/b:1.5 - c/d:2\nother\nstep:{0} - e/f:3\nother\nstep:{0} - fully_async/count:4\nother\n"
    text = "".join(one.format(step) for step in range(9))
    assert rows(text) == [(step, {"a/b": 1.5, "c/d": 2.0, "e/f": 3.0, "fully_async/count": 4.0}) for step in range(9)]


@pytest.mark.parametrize("noise", ["", "(WorkerDict pid=9) step by step\n", "(WorkerDict pid=9) {'a': '}'}\n" * 5])
def test_final_validation_over_several_lines(noise: str) -> None:
    metrics = {f"val-{kind}/openai/gsm8k/reward/mean@{n}": n / 7 for kind in ("core", "aux") for n in range(1, 4)}
    printed = pformat(f"Final validation metrics: {metrics}").splitlines()
    assert len(printed) > 3
    text = "step:40 - actor/lr:1e-06\n" + "".join(f"{PREFIX}{line}\n{noise}" for line in printed)
    assert rows(text) == [(40, {"actor/lr": 1e-06, **metrics})]
    assert rows(text[: text.index(printed[-1])]) == [(40, {"actor/lr": 1e-06})]


@pytest.mark.parametrize(
    "text",
    [
        f"{PREFIX}(\"Final validation metrics: {{'val-core/a/acc/mean@1': \"\n{PREFIX} 'np.float64(0.5)}}')\n",
        f"{PREFIX}\"Final validation metrics: {{'val-core/a/acc/mean@1': np.float64(0.5)}}\"\n",
        "Final validation metrics: {'val-core/a/acc/mean@1': 0.5}\n",
    ],
)
def test_final_validation_of_a_log_without_steps(text: str) -> None:
    assert rows(text) == [(-1, {"val-core/a/acc/mean@1": 0.5})]


def test_initial_validation_is_told_by_the_record_of_step_0() -> None:
    assert rows("\"Initial validation metrics: {'val-core/a/acc/mean@1': 0.5}\"\n") == []


METRICS = {"actor/entropy": 0.09767807275056839, "actor/pg_loss": -0.0036, "actor/lr": 1e-06, "timing_s/gen": 12.5}
LINE = "(TaskRunner pid=4) step:7 - " + " - ".join(f"{key}:{value}" for key, value in METRICS.items())


@pytest.mark.parametrize("width", range(46, len(LINE) + 1))
@pytest.mark.parametrize("strip", [False, True])
def test_a_hard_wrapped_record_is_put_together(width: int, *, strip: bool) -> None:
    """As it is copied from a terminal; some copies lose blanks at its edge."""
    pieces = [LINE[start : start + width] for start in range(0, len(LINE), width)]
    text = "\n".join(piece.strip() if strip else piece for piece in pieces)
    after = f"\n{PREFIX}[score] 1.0\nstep:8 - a/b:1\n"
    (step, found), last = rows(text + after)
    expected = METRICS
    if len(pieces) == 2 and pieces[1].strip(".0123456789") == "":  # a number alone on a line may be anything
        expected = {key: value for key, value in METRICS.items() if key != "timing_s/gen"}
        found.pop("timing_s/gen")
    assert (step, found, last) == (7, expected, (8, {"a/b": 1.0}))


def test_a_record_broken_between_two_metrics() -> None:
    assert rows("step:19 - batch/none:8 - batch/all:0\ncritic/max:0.5 - critic/min:0.0\n") == [
        (19, {"batch/none": 8.0, "batch/all": 0.0, "critic/max": 0.5, "critic/min": 0.0})
    ]


@pytest.mark.parametrize(
    "line", ["8072", ".5", "1 - 2", "hello", "/lr:5", "- x:1", "e/f:1 - and so on", "(WorkerDict pid=1) e/f:1 - g/h:2"]
)
def test_what_may_be_anything_does_not_continue_a_record(line: str) -> None:
    assert rows(f"step:1 - a/b:0.5 - c/d:1.5\n{line}\n") == [(1, {"a/b": 0.5, "c/d": 1.5})]


def test_a_log_of_nothing_but_nan_is_read_as_well() -> None:
    lines = [f"step:{step} - a/b:nan - c/d:np.float64(nan) - e/f:{step}.5 - g/h:-inf\n" for step in range(9)]
    found = rows("".join(lines))
    assert [step for step, _ in found] == list(range(9))
    assert all(math.isnan(row["a/b"]) and math.isnan(row["c/d"]) and row["g/h"] == -math.inf for _, row in found)
    assert [row["e/f"] for _, row in found] == [step + 0.5 for step in range(9)]


@pytest.mark.parametrize("noise", ["", "[score] 1.0\n"])
@pytest.mark.parametrize("number", ["0.5", "np.float64(0.5)", "nan", "np.float64(nan)"])
def test_only_the_first_records_are_read_as_text(monkeypatch: pytest.MonkeyPatch, noise: str, number: str) -> None:
    slowly: list[str] = []

    def counted(line: str) -> Iterator[Record]:
        slowly.append(line)
        return records(line)

    monkeypatch.setattr(module, "records", counted)
    text = "".join(f"{PREFIX}step:{step} - a/b:{number} - c/d:1\n{noise}" for step in range(50))
    assert len(rows(text)) == 50
    assert len(slowly) <= 3


def test_two_kinds_of_records_in_turn_are_read_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    slowly: list[str] = []

    def counted(line: str) -> Iterator[Record]:
        slowly.append(line)
        return records(line)

    monkeypatch.setattr(module, "records", counted)
    text = "".join(
        f"{PREFIX}step:{step} - a/b:0.5 - c/d:1{' - val/x:2' if step % 10 == 0 else ''}\nnoise\n"
        for step in range(1, 501)
    )
    assert len(rows(text)) == 500
    assert len(slowly) <= 8


def test_memory_lines_of_verl_are_no_metrics() -> None:
    text = "".join(f"step:{n} - a/b:{n}\n{MEMORY.format(f'step:{n} - a/b')}\n" for n in range(4))
    assert rows(text) == [(n, {"a/b": float(n)}) for n in range(4)]


def test_either_stream_may_carry_the_lines() -> None:
    reader = read("verl", ("stderr", b"step:1 - x"), ("stdout", b"step:2 - x:2\n"), ("stderr", b":1\n"))
    assert rows_of(reader.columns) == [(2, {"x": 2.0}), (1, {"x": 1.0})]
