import math
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_oracle import bits, rows_of

from grpotui_supervisor.logs import columns as module
from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns

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
