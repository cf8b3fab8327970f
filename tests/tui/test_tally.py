"""A tally tells of a long run what the values themselves would, at a cost that does not grow with it."""

from __future__ import annotations

import random
from array import array
from math import inf, isfinite, nan

import pytest

from grpotui.tui.glyphs import BRAILLE
from grpotui.tui.tally import BUCKETS, Tally


def tally(values: list[float], sizes: list[int] | None = None) -> Tally:
    """Counted in pieces of those sizes, again and again."""
    found, begin, pieces = Tally(), 0, sizes or [len(values) or 1]
    while begin < len(values):
        size = pieces[begin % len(pieces)]
        found.take(array("d", values[begin : begin + size]))
        begin += size
    return found


@pytest.mark.parametrize("count", [1, 2, 127, 128, 129, 1000, 54321])
@pytest.mark.parametrize("sizes", [[1 << 20], [1], [3, 500, 7]], ids=str)
def test_it_is_what_the_values_say(count: int, sizes: list[int]) -> None:
    if sizes == [1]:
        count = min(count, 1000)
    rng = random.Random(count)
    values = [rng.gauss(0, 1) if rng.random() > 0.01 else rng.choice((nan, inf, -inf)) for _ in range(count)]
    found, known = tally(values, sizes), [value for value in values if isfinite(value)]
    assert (found.count, found.lost) == (count, count - len(known))
    assert found.low == (min(known) if known else None)
    assert found.high == (max(known) if known else None)
    assert found.mean == (pytest.approx(sum(known) / len(known)) if known else None)
    assert repr(found.last) == repr(values[-1])


def test_the_pieces_that_it_came_in_do_not_show() -> None:
    values = [float(number % 97) for number in range(5000)]
    one, other = tally(values), tally(values, [1, 13, 400])
    assert one.course(BRAILLE, 60) == other.course(BRAILLE, 60)
    assert one.trend() == other.trend()


def test_nothing_counted_tells_nothing() -> None:
    found = Tally()
    assert (found.last, found.low, found.high, found.mean, found.trend()) == (None,) * 5
    assert found.course(BRAILLE, 20) == []


def test_a_spike_of_one_step_is_seen_in_a_hundred_thousand() -> None:
    values = [0.0] * 100_000
    values[70_000] = 1.0
    drawn = "".join(text for text, _ in tally(values).course(BRAILLE, 40))
    assert len(drawn) == 40
    assert drawn.count("▇") == 1
    assert drawn.index("▇") == 28 - (28 * 2500 > 70_000)


def test_what_is_not_finite_is_marked() -> None:
    runs = tally([1.0, 2.0, nan, 3.0]).course(BRAILLE, 10)
    assert [(text, role) for text, role in runs if role == "critical"] == [("✖", "critical")]
    assert tally([nan, nan]).course(BRAILLE, 10) == [("✖✖", "critical")]


@pytest.mark.parametrize(("values", "trend"), [
    ([1.0, 2.0, 3.0, 4.0], 1), ([4.0, 3.0, 2.0, 1.0], -1), ([2.0] * 9, 0), ([1.0, 2.0], None), ([nan, nan, nan], None),
    ([float(v) for v in range(10_000)], 1), ([1e308, 0.0, -1e308], -1),
])  # fmt: skip
def test_the_trend(values: list[float], trend: int | None) -> None:
    assert tally(values).trend() == trend


def test_numbers_whose_sum_is_none_do_not_raise() -> None:
    found = tally([1.7e308, 1.7e308, 1.7e308])
    assert (found.low, found.high, found.mean, found.lost) == (1.7e308, 1.7e308, None, 0)
    assert found.course(BRAILLE, 5)


def test_a_copy_goes_on_alone() -> None:
    found = tally([float(v) for v in range(BUCKETS)])
    other = found.copy()
    other.take(array("d", [1e9] * 300))
    assert (found.count, found.high) == (BUCKETS, BUCKETS - 1)
    assert (other.count, other.high) == (BUCKETS + 300, 1e9)
