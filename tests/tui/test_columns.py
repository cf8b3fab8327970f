"""Points to columns to dots: nothing is lost on the way, and what was kept equals what is computed anew."""

from __future__ import annotations

import math
import time
from array import array

from hypothesis import given, settings
from hypothesis import strategies as st
from tui.pictures import naive_smoothed, numbers, series

from grpotui.tui import raster
from grpotui.tui.columns import Columns, Grid
from grpotui.tui.scale import Scale
from grpotui.tui.series import Series

points = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=40)
factors = st.sampled_from((0.0, 0.3, 0.9, 0.99))


def filled(found: Series, count: int, smoothing: float = 0.0, columns: int = 40) -> Columns | None:
    reach = found.reach(count)
    if reach is None:
        return None
    out = Columns()
    out.update(found, count, Grid.fitted(*reach, columns), smoothing)
    return out


@settings(deadline=None)
@given(points, st.booleans())
def test_every_finite_point_lies_in_the_envelope_of_its_column(found: list[tuple[float, float]], log: bool) -> None:
    shown = filled(series(found), len(found))
    extent = shown.extent() if shown is not None else None
    if shown is None or extent is None:
        return
    scale = Scale.around(*extent, 32, log=log)
    dots = raster.envelope(shown, scale)
    for x, y in found:
        if math.isfinite(x) and math.isfinite(y) and (y > 0 or not scale.log):
            assert shown.low[shown.grid.column(x)] <= y <= shown.high[shown.grid.column(x)]
            assert dots[shown.grid.column(x)] >> scale.level(y) & 1


@settings(deadline=None)
@given(points, factors, st.data())
def test_columns_kept_up_to_date_equal_those_computed_anew(
    found: list[tuple[float, float]], smoothing: float, data: st.DataObject
) -> None:
    whole = series(found)
    reach = whole.reach(len(found))
    if reach is None:
        return
    grid = Grid.fitted(*reach, 30)
    grown, kept = series(found), Columns()
    for count in [*sorted(data.draw(st.lists(st.integers(0, len(found)), max_size=5))), len(found)]:
        kept.update(grown, count, grid, smoothing)
    anew = Columns()
    anew.update(whole, len(found), grid, smoothing)
    for name in ("low", "high", "mean"):
        assert repr(getattr(kept, name)) == repr(getattr(anew, name)), name  # nan equals nan in it
    assert (kept.lost, kept.stretch) == (anew.lost, anew.stretch)


@settings(deadline=None)
@given(st.lists(numbers.filter(lambda v: not math.isfinite(v) or abs(v) < 1e100), max_size=40), factors, st.data())
def test_smoothing_is_the_debiased_average_of_what_came_before(
    values: list[float], factor: float, data: st.DataObject
) -> None:
    found = series(enumerate(values))
    for count in sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=3))):
        found.smoothed(count, factor)
    smoothed = found.smoothed(len(values), factor)
    expected = naive_smoothed(values, factor) if factor else values
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    for got, wanted in zip(smoothed, expected, strict=True):
        assert (
            got == wanted
            or (math.isnan(got) and math.isnan(wanted))
            or math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-9 * largest)
        )


def test_smoothing_begins_anew_where_training_does() -> None:
    found = series([(1, 0.0), (2, 0.0), (3, 0.0), (2, 1.0), (3, 1.0)])
    assert list(found.smoothed(5, 0.9)) == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert [(start, stop) for _, start, stop in found.stretches(5)] == [(0, 3), (3, 5)]


@given(points)
def test_stretches_hold_every_point_with_a_place_and_never_fall(found: list[tuple[float, float]]) -> None:
    held = series(found)
    placed = [at for _, start, stop in held.stretches(len(found)) for at in range(start, stop)]
    assert placed == [at for at, (x, _) in enumerate(found) if math.isfinite(x)]
    for _, start, stop in held.stretches(len(found)):
        assert list(held.x[start:stop]) == sorted(held.x[start:stop])


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.integers(1, 200), st.floats(-1e300, 1e300))
def test_a_column_holds_what_lies_between_its_borders(one: float, two: float, columns: int, x: float) -> None:
    low, high = min(one, two), max(one, two)
    grid = Grid.fitted(low, high, columns)
    assert grid.shows(low)
    assert grid.shows(high)
    column = grid.column(x)
    assert 0 <= column < columns
    if grid.shows(x):
        assert grid.border(column) <= x
        assert x < grid.border(column + 1) or column == columns - 1


def test_the_newest_point_is_never_far_from_the_right_edge() -> None:
    for count in range(2, 3000, 7):
        grid = Grid.fitted(1, count, 100)
        assert grid.column(count) >= 97


def test_a_new_point_costs_its_column_and_not_the_run() -> None:
    """A hundred more points on a line of a million: less than a tenth of what all of them cost."""
    count = 1_000_000
    found = Series(array("d", range(count + 100)), array("d", [1.0]) * (count + 100))
    grid, kept = Grid.fitted(0, count * 1.01, 200), Columns()
    begun = time.process_time()
    kept.update(found, count, grid)
    all_of_it = time.process_time() - begun
    begun = time.process_time()
    for more in range(1, 101):
        kept.update(found, count + more, grid)
    assert time.process_time() - begun < max(all_of_it, 0.02) / 2
    assert kept.mean[grid.column(count + 99)] == 1.0


def test_a_wide_hole_is_not_bridged_and_a_small_one_is() -> None:
    def drawn(xs: list[int]) -> list[bool]:
        shown = filled(series((x, 1.0) for x in xs), len(xs), columns=100)
        assert shown is not None
        return [bool(bits) for bits in raster.trace(shown, Scale.around(0, 2, 16))]

    hole = drawn([*range(30), *range(60, 100)])
    assert not any(hole[32:58])
    assert all(hole[:28])
    few = drawn([0, 33, 66, 99])
    assert sum(few) >= 97


def test_a_reading_that_is_held_is_level_until_the_next_one_and_never_in_between() -> None:
    shown = filled(series([(0, 1.0), (50, 9.0), (99, 1.0)]), 3, columns=100)
    assert shown is not None
    scale = Scale.around(0, 10, 40)
    dots = raster.trace(shown, scale, held=True)
    at = [shown.grid.column(x) for x in (0, 50, 99)]
    low, high = 1 << scale.level(1.0), 1 << scale.level(9.0)
    assert set(dots[at[0] : at[1]]) == {low}
    assert set(dots[at[1] + 1 : at[2]]) == {high}
    assert dots[at[1]].bit_count() == scale.level(9.0) - scale.level(1.0)
    assert all(bits.bit_count() == 1 for bits in raster.trace(shown, scale)[at[0] + 1 : 20])


def test_few_points_under_a_smoothed_line_are_joined_and_many_are_not_made_thicker() -> None:
    scale = Scale.around(0, 10, 40)
    few = filled(series(zip(range(5), [1.0, 9.0, 1.0, 9.0, 1.0], strict=True)), 5, 0.9, columns=100)
    assert few is not None
    assert sum(map(bool, raster.envelope(few, scale))) == 5
    assert sum(map(bool, raster.envelope(few, scale, joined=True))) > 95
    many = filled(series((x, 9.0 if x // 10 % 2 else 1.0) for x in range(1000)), 1000, 0.9, columns=100)
    assert many is not None
    assert raster.envelope(many, scale, joined=True) == raster.envelope(many, scale)


def test_what_began_again_is_a_line_of_its_own() -> None:
    again = [*((x, 1.0) for x in range(40)), *((x, 9.0) for x in range(30, 100))]
    shown = filled(series(again), len(again), columns=100)
    assert shown is not None
    dots = raster.trace(shown, Scale.around(0, 10, 40))
    assert all(bits.bit_count() == 1 for bits in dots if bits)


def test_the_line_does_not_go_on_over_a_value_that_is_not_finite() -> None:
    values = [1.0, 1.0, math.nan, 1.0, 1.0]
    shown = filled(series(enumerate(values)), 5, columns=60)
    assert shown is not None
    dots = raster.trace(shown, Scale.around(0, 2, 8))
    at = [shown.grid.column(x) for x in range(5)]
    assert all(dots[at[0] : at[1] + 1])
    assert not any(dots[at[1] + 1 : at[3]])
    assert all(dots[at[3] : at[4] + 1])
