import math
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_oracle import bits, rows_of

from grpotui_supervisor.logs import columns as module
from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns, Series

RECORDS = st.lists(
    st.tuples(st.integers(-1, 6), st.dictionaries(st.sampled_from("abcd"), st.floats(), max_size=4)), max_size=30
)


def test_a_metric_that_was_not_printed_is_absent() -> None:
    columns = Columns()
    columns.record(1, [("loss", 0.0)])
    columns.record(2, [("reward", math.nan)])
    assert columns.row(0) == {"loss": 0.0}
    assert columns.row(1).keys() == {"reward"}
    assert columns.series["reward"].rows == array("I", [1])
    assert columns.last("loss") == 0.0
    assert columns.last("kl") is None


def test_a_step_printed_again_adds_to_its_row() -> None:
    columns = Columns()
    columns.record(3, [("loss", 1.0), ("lr", 0.1)])
    columns.record(4, [("loss", 2.0)])
    columns.record(3, [("loss", 5.0), ("val", 0.5)])
    assert rows_of(columns) == [(3, {"loss": 5.0, "lr": 0.1, "val": 0.5}), (4, {"loss": 2.0})]
    assert columns.last("loss") == 2.0


def test_a_late_metric_keeps_its_series_in_order() -> None:
    columns = Columns()
    for step in (1, 2, 3):
        columns.record(step, [("loss", float(step))])
    columns.record(3, [("val", 3.0)])
    columns.record(1, [("val", 1.0)])
    assert columns.series["val"].rows == array("I", [0, 2])
    assert columns.series["val"].values == array("d", [1.0, 3.0])


def test_records_of_unknown_step_are_never_merged() -> None:
    columns = Columns()
    columns.record(UNKNOWN_STEP, [("loss", 1.0)])
    columns.record(UNKNOWN_STEP, [("loss", 2.0)])
    assert rows_of(columns) == [(-1, {"loss": 1.0}), (-1, {"loss": 2.0})]


def test_an_index_outside_raises() -> None:
    columns = Columns()
    columns.record(1, [])
    assert columns.row(-1) == {}
    with pytest.raises(IndexError):
        columns.row(1)


def test_a_garbled_log_cannot_open_series_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SERIES", 2)
    columns = Columns()
    columns.record(1, [("a", 1.0), ("b", 2.0), ("c", 3.0), ("a", 4.0)])
    assert columns.row(0) == {"a": 4.0, "b": 2.0}


@settings(deadline=None)
@given(RECORDS)
def test_columns_hold_what_a_list_of_dicts_would(records: list[tuple[int, dict[str, float]]]) -> None:
    columns = Columns()
    expected: list[tuple[int, dict[str, float]]] = []
    for step, pairs in records:
        columns.record(step, pairs.items())
        row = next((row for known, row in expected if known == step != UNKNOWN_STEP), None)
        if row is None:
            expected.append((step, dict(pairs)))
        else:
            row.update(pairs)
    assert bits(rows_of(columns)) == bits(expected)
    assert len(columns) == len(expected)


KINDS = ({"a": 1, "b": 2}, {"b": 2, "c": 3}, {"a": 1, "b": 2, "c": 3}, {"d": 4})
RUNS = st.lists(st.tuples(st.integers(0, len(KINDS) - 1), st.integers(1, 9)), max_size=20)


@settings(deadline=None)
@given(RUNS, st.sets(st.integers(0, 60)), st.integers(1, 9))
def test_packed_rows_hold_what_records_would(runs: list[tuple[int, int]], recorded: set[int], held: int) -> None:
    """Rows of several kinds, with plain records between them, and someone who looks at any moment."""
    columns, expected = Columns(), Columns()
    shapes = {kind: shape for kind, keys in enumerate(KINDS) if (shape := columns.shape(keys))}
    step = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_HELD_ROWS", held)
        patch.setattr(module, "_WAITING", 4)
        for kind, count in runs:
            steps = list(range(step, step + count))
            rows = [{key: value + number / 7 for key, value in KINDS[kind].items()} for number in steps]
            for number, row in zip(steps, rows, strict=True):
                expected.record(number, row.items())
            if step in recorded:
                for number, row in zip(steps, rows, strict=True):
                    columns.record(number, row.items())
            else:
                packed = [
                    shapes[kind].pack(number, *(row[key] for key in shapes[kind].keys))
                    for number, row in zip(steps, rows, strict=True)
                ]
                columns.append_rows(shapes[kind], steps, packed)
            assert columns.steps == expected.steps
            step += count
        columns.record(3, [("a", 0.5)])
        expected.record(3, [("a", 0.5)])
    assert bits(rows_of(columns)) == bits(rows_of(expected))
    assert columns.last("d") == expected.last("d")


def test_a_shape_must_fit_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = Columns()
    assert columns.shape([f"wide/{number}" for number in range(200)]) is not None
    assert columns.shape(["narrow"]) is None  # its rows would be nothing but padding
    monkeypatch.setattr(module, "MAX_SERIES", 210)
    assert columns.shape([f"other/{number}" for number in range(100)]) is None


def test_rows_that_nobody_looked_at_take_eight_bytes_a_value() -> None:
    columns = Columns()
    shape = columns.shape(["a"])
    assert shape is not None
    columns.append_rows(shape, range(2000), [shape.pack(step, 0.5) for step in range(2000)])
    series = columns.series["a"]
    assert len(series.values) == 2000
    assert series._gapped is None
    assert series.rows == array("I", range(2000))


def test_a_series_may_begin_late_and_have_gaps() -> None:
    series = Series()
    series.extend(range(5, 7), array("d", [1, 2]))
    assert (series.at(4), series.at(5), series.at(7)) == (None, 1.0, None)
    series.extend(range(9, 10), array("d", [3]))
    series.put(10, 4.0)
    series.put(6, 5.0)
    assert series.rows == array("I", [5, 6, 9, 10])
    assert series.values == array("d", [1, 5, 3, 4])
    assert [series.at(row) for row in (5, 6, 7, 9, 10)] == [1, 5, None, 3, 4]


def test_what_happens_again_gets_new_rows() -> None:
    columns = Columns()
    for step in (1, 2, 3):
        columns.record(step, [("loss", 1.0)])
    assert columns.happens_again(2, "loss")
    assert not columns.happens_again(2, "val/acc")
    columns.restart(2)
    columns.record(2, [("loss", 2.0)])
    columns.record(2, [("val/acc", 0.5)])
    assert columns.restarts == [(3, 2)]
    assert rows_of(columns)[2:] == [(3, {"loss": 1.0}), (2, {"loss": 2.0, "val/acc": 0.5})]
    assert list(columns.curve()) == [0, 3]
    assert columns.last("loss") == 2.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), max_size=8))
def test_the_curve_has_each_step_once_as_it_came_last(lineages: list[tuple[int, int]]) -> None:
    columns, last = Columns(), dict[int, int]()
    for number, (first, count) in enumerate(lineages):
        if number:
            columns.restart(first)
        last = {step: row for step, row in last.items() if step < first}
        for step in range(first, first + count):
            last[step] = len(columns)
            columns.record(step, [("loss", 0.0)])
    assert list(columns.curve()) == sorted(last.values())
