"""A TRL dict does not tell its step: where it comes from, and that the order of two streams does not matter."""

from itertools import permutations

import pytest
from support.trl_texts import BAR, CLEAR, bar, read_trl, redrawn, written

RICH = "╭──────────────── Step {} ────────────────╮\n│ ┏━━━━━━━━┳━━━━━━━━━━━━┓ │\n╰─────────────────────────╯\n"


def record(number: int) -> str:
    return f"{{'loss': 0.{number}, 'epoch': {number}.0}}"


def steps(*blocks: tuple[str, str], logging_steps: int | None = None) -> list[int]:
    return list(read_trl(*blocks, logging_steps=logging_steps).columns.steps)


@pytest.mark.parametrize(("every", "expected"), [(1, [1, 2, 3]), (10, [10, 20, 30]), (None, [-1] * 3), (0, [-1] * 3)])
def test_dicts_alone_are_counted_or_unknown(every: int | None, expected: list[int]) -> None:
    assert steps(("stdout", "".join(f"{record(n)}\n" for n in (1, 2, 3))), logging_steps=every) == expected


def test_an_entry_of_the_trainers_history_has_its_step() -> None:
    """A callback that prints `state.log_history[-1]` repeats each dict, with the step."""
    text = "".join(f"{record(n)}\n{record(n)[:-1]}, 'step': {n * 5}}}\n" for n in (1, 2))
    assert steps(("stdout", text), logging_steps=5) == [5, 10]
    assert steps(("stdout", "{'loss': 0.5, 'grad_norm': 1.0, 'step': 7}\n")) == [7]


@pytest.mark.parametrize("every", [None, 1, 10])
def test_in_one_stream_the_bar_behind_the_dict_tells(every: int | None) -> None:
    """The bar in front may be a step late: tqdm draws at most each 0.1 s."""
    text = bar(0) + bar(1) + bar(2) + written(record(1), 3) + bar(4) + written(record(2), 6) + "\n"
    assert steps(("stdout", text), logging_steps=every) == [3, 6]


def test_on_a_terminal_lines_end_with_two_characters() -> None:
    text = bar(0) + f"{CLEAR}{record(1)}\r\n{bar(3)}" + f"{CLEAR}{record(2)}\r\n{bar(9)}\n"
    assert steps(("stdout", text)) == [3, 9]


def test_the_step_is_there_before_the_bars_line_ends() -> None:
    reader = read_trl(("stdout", bar(0) + CLEAR + record(1) + "\n"))
    assert list(reader.columns.steps) == [-1]
    reader.feed(bar(3).encode()[:-12])
    assert list(reader.columns.steps) == [3]


def test_a_copied_bar_tells_when_it_is_at_the_same_step_or_the_next() -> None:
    bars = [bar(done).lstrip() for done in (3, 4, 9, 9)]
    text = "".join(f"{drawn}\n{record(number)}\n" for number, drawn in enumerate(bars, 1))
    assert steps(("stdout", text)) == [4, -1, 9, -1]


def test_bars_copied_behind_all_dicts_tell_nothing() -> None:
    text = f"{record(1)}\n{record(2)}\n" + "".join(bar(n).lstrip() + "\n" for n in range(4))
    assert steps(("stdout", text)) == [-1, -1]
    assert steps(("stdout", text), logging_steps=2) == [2, 4]


def test_a_buffered_stdout_makes_bars_worthless() -> None:
    """Then dicts come many at a time, at any place among the bars."""
    text = "".join(bar(n) for n in range(9)) + CLEAR + "".join(f"{record(n)}\n" for n in (1, 2, 3)) + bar(9) + bar(10)
    assert steps(("stdout", text + "\n")) == [-1, -1, -1]
    assert steps(("stdout", text + "\n"), logging_steps=2) == [2, 4, 6]


def test_what_is_cut_and_what_is_left_of_a_burst_stays_unordered() -> None:
    text = bar(0) + bar(6) + CLEAR + f"{record(1)}\n{record(2)}\n" + bar(7) + f"\r{record(3)}\n{bar(8)}\n"
    assert steps(("stdout", text)) == [-1, -1, -1]


def test_the_title_of_the_table_behind_a_dict_tells() -> None:
    text = "".join(f"{record(n)}\n{RICH.format(n * 3)}" for n in (1, 2))
    assert steps(("stdout", text)) == [3, 6]
    assert steps(("stdout", text), logging_steps=1) == [3, 6]


def test_a_title_in_a_cell_is_somebodys_text() -> None:
    assert steps(("stdout", f"{record(1)}\n│ │ {RICH.format(9)}")) == [-1]


def test_a_title_glued_to_a_bar_is_read() -> None:
    assert steps(("stdout", f"{record(1)}\n{bar(4)}{RICH.format(4)}")) == [4]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_the_order_of_two_streams_does_not_matter(order: tuple[int, ...]) -> None:
    out = [f"{record(1)}\n", f"{record(2)}\n{record(3)}\n"]
    err = [bar(0) + bar(13) + bar(14), redrawn(15) + redrawn(18) + bar(20) + "\n"]
    blocks = [("stdout", out[0]), ("stdout", out[1]), ("stderr", err[0]), ("stderr", err[1])]
    chosen = [blocks[index] for index in order]
    chosen.sort(key=lambda block: (block[0], blocks.index(block)))  # each stream in its own order
    mixed = sorted(range(4), key=lambda index: order[index])
    streams = {"stdout": iter(out), "stderr": iter(err)}
    fed = [(name, next(streams[name])) for name in (blocks[index][0] for index in mixed)]
    reader = read_trl(*fed, logging_steps=3)
    assert list(reader.columns.steps) == [15, 18, 21]
    assert reader.columns.series["loss"].at(1) == 0.2


def test_a_resumed_run_goes_on_at_the_next_multiple() -> None:
    text = "".join(f"{record(n)}\n" for n in (1, 2))
    blocks = [("stdout", text), ("stderr", bar(0, 900) + bar(501, 900) + bar(502, 900) + "\n")]
    assert steps(*blocks, logging_steps=10) == [510, 520]
    assert steps(*reversed(blocks), logging_steps=10) == [510, 520]
    reader = read_trl(*blocks, logging_steps=10)
    assert (reader.step, reader.steps_total) == (520, 900)


def test_a_run_from_the_start_is_not_taken_for_a_resumed_one() -> None:
    """A fast run draws its bar first at step 4; it is drawn at each dict at the latest."""
    blocks = [("stdout", f"{record(1)}\n"), ("stderr", bar(0) + bar(4) + redrawn(5) + "\n")]
    assert steps(*blocks, logging_steps=5) == [5]


def test_the_bar_tells_that_the_first_step_is_logged_too() -> None:
    text = "".join(f"{record(n)}\n" for n in (1, 2, 3))
    blocks = [("stdout", text), ("stderr", bar(0) + redrawn(1) + bar(2) + redrawn(3) + redrawn(6) + "\n")]
    assert steps(*blocks, logging_steps=3) == [1, 3, 6]
    assert steps(*reversed(blocks), logging_steps=3) == [1, 3, 6]


def test_an_evaluation_gets_its_step_from_the_bar_and_joins_the_row_of_that_step() -> None:
    evaluation = "{'eval_loss': 0.5, 'epoch': 1.0}"
    text = bar(0) + written(record(1), 2) + written(evaluation, 2) + written(evaluation, 3) + bar(4) + "\n"
    reader = read_trl(("stdout", text))
    assert list(reader.columns.steps) == [2, 3]
    assert reader.columns.row(0) == {"loss": 0.1, "epoch": 1.0, "val/loss": 0.5}
    assert reader.columns.row(1) == {"val/loss": 0.5, "epoch": 1.0}


def test_a_run_that_was_started_again_gets_new_rows() -> None:
    text = bar(0) + written(record(1), 5) + written(record(2), 10) + "\n" + bar(0)
    reader = read_trl(("stdout", text))
    assert (reader.step, list(reader.columns.steps)) == (0, [5, 10])
    reader.feed((bar(1) + written(record(3), 5) + "\n").encode())
    assert (reader.step, list(reader.columns.steps)) == (5, [5, 10, 5])
    assert reader.columns.row(2) == {"loss": 0.3, "epoch": 3.0}


def test_a_step_that_two_trainers_print_is_one_row() -> None:
    reader = read_trl(("stdout", bar(0) + written(record(1), 5) + written(record(2), 5) + "\n"))
    assert list(reader.columns.steps) == [5]
    assert reader.columns.row(0) == {"loss": 0.2, "epoch": 2.0}


def test_the_bar_tells_step_and_total_before_its_line_ends() -> None:
    reader = read_trl(("stderr", "\rLoading weights: 100%|##| 26/26 [00:00<00:00, 5239.86it/s]\n"))
    assert (reader.step, reader.steps_total) == (None, None)
    reader.feed(b"\r  0%|          | 0/20 [00:00<?, ?it/s]", stream="stderr")
    assert (reader.step, reader.steps_total) == (0, 20)
    reader.feed(b"\r 35%|\xe2\x96\x88\xe2\x96\x88      | 7/2", stream="stderr")
    assert (reader.step, reader.steps_total) == (0, 20)
    reader.feed(b"0 [00:01", stream="stderr")
    assert (reader.step, reader.steps_total) == (7, 20)


@pytest.mark.parametrize("prefix", ["[default0]:", "[rank0]: ", "node-1: [rank0]: ", "Train: "])
def test_a_launchers_prefix_or_ms_swifts_label_is_no_label(prefix: str) -> None:
    reader = read_trl(("stderr", f"\r{prefix}{BAR.lstrip()}\r"))
    assert (reader.step, reader.steps_total) == (7, 20)


@pytest.mark.parametrize("label", ["Map: ", "Adding requests: ", "Loading weights:", "Processed prompts: ", "it is "])
def test_a_bar_with_a_label_is_anothers(label: str) -> None:
    reader = read_trl(("stderr", f"\r{label}{BAR.lstrip()}\r"))
    assert (reader.step, reader.steps_total) == (None, None)


def test_the_dicts_may_be_ahead_of_the_bar() -> None:
    reader = read_trl(("stdout", f"{record(1)}\n"), ("stderr", bar(0) + bar(7)), logging_steps=10)
    assert (reader.step, reader.steps_total) == (10, 20)


def test_the_bar_of_an_evaluation_is_not_the_runs() -> None:
    """It is drawn below the trainer's, which is not at its end."""
    reader = read_trl(("stderr", bar(0) + bar(7)), ("stdout", f"{record(1)}\n"))
    nested = "\n\r  0%|   | 0/5 [00:00<?, ?it/s]\x1b[A\n\r100%|###| 5/5 [00:00<00:00, 9.1it/s]\x1b[A\r"
    reader.feed(nested.encode(), stream="stderr")
    assert (reader.step, reader.steps_total) == (7, 20)


def test_an_evaluation_after_the_end_is_not_the_runs() -> None:
    text = bar(0) + redrawn(10) + redrawn(20) + bar(20) + "\n" + bar(0, 5) + bar(5, 5) + "\n"
    for blocks in ([("stderr", text), ("stdout", f"{record(1)}\n")], [("stdout", f"{record(1)}\n"), ("stderr", text)]):
        reader = read_trl(*blocks)
        assert (reader.step, reader.steps_total) == (20, 20)


def test_a_bar_that_ended_before_training_is_forgotten() -> None:
    text = "\r  0%| | 0/64 [00:00<?]\r100%|#| 64/64 [00:00<00:00]\n\r  0%| | 0/20 [00:00<?]"
    reader = read_trl(("stdout", f"{record(1)}\n"), ("stderr", text))
    assert (reader.step, reader.steps_total) == (0, 20)
