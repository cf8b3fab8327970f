"""Values to levels, and the numbers beside them."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grpotui.tui import labels
from grpotui.tui.scale import Scale, row_of, ticks, x_ticks

finite = st.floats(allow_nan=False, allow_infinity=False)
_SUFFIX = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def read(label: str) -> float | None:
    """The number that a label stands for; None for what is told from another."""
    if label[:1] in "~+":
        return None
    return float(label[:-1]) * _SUFFIX[label[-1]] if label[-1:] in _SUFFIX else float(label)


@given(finite, finite, st.integers(1, 120), st.booleans(), st.lists(finite, max_size=5))
def test_levels_are_inside_and_do_not_fall(one: float, two: float, dots: int, log: bool, values: list[float]) -> None:
    scale = Scale.around(min(one, two), max(one, two), dots, log=log)
    found = [scale.level(value) for value in sorted(values) if value > 0 or not scale.log]
    assert found == sorted(found)
    assert all(0 <= level < dots for level in found)


@settings(deadline=None)
@given(finite, finite, st.integers(1, 40), st.integers(3, 8), st.booleans())
@example(0.0, 5e-324, 1, 3, True)
def test_labels_fit_and_stand_where_their_number_is(one: float, two: float, rows: int, width: int, log: bool) -> None:
    scale = Scale.around(min(one, two), max(one, two), rows * 4, log=log)
    found = ticks(scale, rows, width)
    assert all(0 <= row < rows for row in found)
    assert all(len(label) <= width for label in found.values())
    assert rows <= 4 or all(below - above >= 2 for above, below in pairwise(sorted(found)))
    for row, label in found.items():
        value = read(label) if label else None
        if value is None or len(set(found.values())) < len(found) or any(name[:1] in "~+" for name in found.values()):
            continue
        inside = min(max(value, scale.low), scale.high)
        assert math.isclose(inside, value, rel_tol=1e-6, abs_tol=(scale.high / 2 - scale.low / 2) * 1e-6), label
        if value > 0 or not scale.log:
            assert row_of(scale, value, rows) == row, (scale, label)


def test_familiar_ranges_have_familiar_labels() -> None:
    assert list(ticks(Scale(0.1, 0.8, 40), 10, 6).values()) == ["0.2", "0.4", "0.6", "0.8"]
    assert list(ticks(Scale(0, 40_000, 40), 10, 6).values()) == ["0", "10k", "20k", "30k", "40k"]
    assert list(ticks(Scale(1e-6, 1e-1, 40, log=True), 10, 6).values()) == ["1e-6", "0.0001", "0.01"]
    assert ticks(Scale(1000.001, 1000.009, 40), 10, 6)


@given(finite, finite, st.sampled_from(("step", "time", "tokens")), st.integers(2, 20))
def test_places_on_the_axis_are_inside_it(one: float, two: float, axis: str, most: int) -> None:
    low, high = min(one, two), max(one, two)
    found = x_ticks(low, high, axis, most)
    assert len(found) <= most
    slack = (high / 2 - low / 2) * 1e-6
    assert all(low - slack <= x <= high + slack for x, _ in found)


def test_where_no_two_places_have_room_there_is_one() -> None:
    assert x_ticks(0.7, 22, "time", 2) == [(10, "10s"), (20, "20s")]
    assert x_ticks(0.7, 17, "time", 2) == [(10, "10s")]
    assert x_ticks(11, 19, "step", 2) == [(15, "15")]
    assert x_ticks(1.1, 1.9, "step", 2) == []  # no step between


@given(finite)
def test_a_value_is_told_in_digits_that_make_it_again_or_nine_of_them(value: float) -> None:
    text = labels.exact(value)
    assert math.isclose(float(text), value, rel_tol=1e-8, abs_tol=5e-324)


def test_exact_values_are_short_where_they_can_be() -> None:
    assert [labels.exact(v) for v in (0.5, 0.123456789, 1e-6, 641.0, math.nan, -math.inf)] == [
        *("0.5", "0.123456789", "1e-06", "641", "nan", "-inf"),
    ]
