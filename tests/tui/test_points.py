"""Numbers of a curve: extremes and where they were, what is not finite, kept up with points that grow."""

from __future__ import annotations

import random
from array import array
from math import inf, isfinite, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpotui.tui.panels.bands import _About
from grpotui.tui.panels.memory_history import Peaks, held
from grpotui.tui.panels.points import Points, Statistics, recent_mean

VALUES = st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=30)


def points(*values: float) -> Points:
    found = Points("loss")
    found.x.extend(float(n) for n in range(1, len(values) + 1))
    found.y.extend(values)
    return found


@given(VALUES, st.integers(0, 30))
def test_in_two_pieces_as_in_one(values: list[float], cut: int) -> None:
    grown, found = points(*values[:cut]), Statistics()
    found.update(grown)
    more = points(*values)
    grown.x.extend(more.x[cut:])
    grown.y.extend(more.y[cut:])
    found.update(grown)
    kept = [(value, place) for place, value in zip(grown.x, grown.y, strict=True) if isfinite(value)]
    assert found.lost == len(values) - len(kept)
    assert found.known == bool(kept)
    if kept:
        assert found.low == min(kept, key=lambda pair: pair[0])
        assert found.high == max(kept, key=lambda pair: pair[0])


def test_another_curve_is_counted_anew() -> None:
    found, curve = Statistics(), points(5.0, nan)
    found.update(curve)
    curve.x, curve.y = array("d", [1.0]), array("d", [2.0])
    found.update(curve)
    assert (found.low, found.high, found.lost) == ((2.0, 1.0), (2.0, 1.0), 0)


def test_the_newest_mean_is_of_twenty_finite_ones() -> None:
    assert recent_mean(points(100.0, *[1.0] * 19, nan)) == 1.0
    assert recent_mean(points(nan, inf)) is None
    assert recent_mean(points()) is None


def test_a_reading_holds_until_the_next_and_a_peak_is_not_lost() -> None:
    x, peaks = array("d", [2.0, 6.0, 6.2]), Peaks()
    peaks.update(array("d", [3.0, 9.0, 1.0]))
    assert held(x, peaks, 10.0, 10) == [None, 3.0, 3.0, 3.0, 3.0, 9.0, 9.0, 1.0, 1.0, 1.0]
    assert held(x, peaks, 10.0, 0) == []


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 2000))
@settings(deadline=None)
def test_peaks_by_blocks_are_those_of_a_slow_look(count: int, begin: int, end: int) -> None:
    rng = random.Random(count)
    values, peaks = array("d", (rng.random() for _ in range(count))), Peaks()
    for _ in range(2):
        peaks.update(values)
        assert peaks.most(begin, min(end, len(values))) == max(values[begin : min(end, len(values))], default=None)
        values.extend(rng.random() for _ in range(300))
    peaks.update(array("d", [7.0]))
    assert peaks.most(0, 1) == 7.0


def test_a_band_is_absent_where_no_deviation_is_printed() -> None:
    mean, deviation, about = points(1.0, 2.0, 3.0), Points("reward/std"), _About()
    deviation.x.extend([1.0, 3.0])
    deviation.y.extend([0.5, 0.25])
    band = about.band(mean, deviation)
    assert list(band.low.series.y) == pytest.approx([0.5, nan, 2.75], nan_ok=True)
    assert list(band.high.series.y) == pytest.approx([1.5, nan, 3.25], nan_ok=True)
    mean.x.append(4.0)
    mean.y.append(1.0)
    deviation.x.append(4.0)
    deviation.y.append(1.0)
    assert about.band(mean, deviation).high.series.y[-1] == 2.0
