"""What stands at one place of a chart, in words: where a crosshair is, the last value, where it is going."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import isfinite
from typing import TYPE_CHECKING

from grpotui.text import number
from grpotui.tui import labels

if TYPE_CHECKING:
    from grpotui.tui.chart_parts import Axis, Line
    from grpotui.tui.columns import Columns, Grid
    from grpotui.tui.scale import Scale

_RECENT = 10
"""The trend is that over the last tenth of the columns; below 1/25 of the range it is level."""
_LEVEL = 0.04
NOTHING = "-"
"""For a line that has no point there."""


def place(axis: Axis, x: float) -> str:
    """`step 1,500`, `12m30`, `1.5M tokens`."""
    if axis == "time":
        return labels.span(x)
    return f"{labels.tokens(x)} tokens" if axis == "tokens" else f"step {x:,.6g}" if x % 1 else f"step {x:,.0f}"


def indexes(line: Line, grid: Grid, column: int) -> range:
    """The points of a column, of the last stretch that has some in it."""
    x, found = line.series.x, range(0)
    for _, start, stop in line.series.stretches(line.count):
        begin = bisect_left(x, grid.border(column), start, stop)
        end = bisect_left(x, grid.border(column + 1), begin, stop)
        found = range(begin, end) if end > begin else found
    return found


def at(line: Line, x: float) -> int | None:
    """The last point at or before an x between a line's ends; of stretches over each other the later counts."""
    found = None
    for _, start, stop in line.series.stretches(line.count):
        xs = line.series.x
        if xs[start] <= x <= xs[stop - 1]:
            found = bisect_right(xs, x, start, stop) - 1
    return found


def value_at(line: Line, x: float) -> str:
    """The exact value of the point at an x; with `@` and its own x where that is another; `-` where there is none."""
    index = at(line, x)
    if index is None:
        return NOTHING
    other = line.series.x[index]
    return labels.exact(line.series.y[index]) + ("" if other == x else f" @{labels.count(other)}")


def smoothed_at(line: Line, x: float, smoothing: float) -> str:
    """`smoothed 0.44`; empty where nothing is smoothed, or no point is there."""
    index = at(line, x)
    if smoothing <= 0 or index is None:
        return ""
    return f"smoothed {number(line.series.smoothed(line.count, smoothing)[index])}"


def column_at(line: Line, columns: Columns, column: int) -> str:
    """`51 points, 0.38 to 3.2, 1 not finite` where several share a dot column; empty for a single one."""
    points = len(indexes(line, columns.grid, column))
    if points < 2:
        return ""
    low, high, lost = columns.low[column], columns.high[column], columns.lost[column]
    reach = f", {number(low)} to {number(high)}" if high >= low else ""
    return f"{points} points{reach}" + (f", {lost} not finite" if lost else "")


def last(line: Line) -> str:
    """The last of the points shown."""
    return number(line.series.y[line.count - 1]) if line.count else ""


def trend(columns: Columns, scale: Scale) -> int:
    """-1 falling, 0 level, 1 rising; level too where there is too little to tell."""
    filled = [c for c, mean in enumerate(columns.mean) if isfinite(mean)]
    if len(filled) < 3:
        return 0
    end = filled[-1]
    reach = max(2, (end - filled[0]) // _RECENT)
    before = next(c for c in reversed(filled) if c <= end - reach)
    rise = (scale.level(columns.mean[end]) - scale.level(columns.mean[before])) / max(1, scale.dots - 1)
    return 0 if abs(rise) <= _LEVEL else 1 if rise > 0 else -1


def neighbour(filled: list[int], column: int, step: int) -> int | None:
    """The next column with a point, to the left (-1) or right (1); the last one where there is none beyond."""
    ahead = [c for c in filled if (c - column) * step > 0]
    if ahead:
        return ahead[0] if step > 0 else ahead[-1]
    return (filled[-1] if step > 0 else filled[0]) if filled else None


def nearest(filled: list[int], column: int) -> int | None:
    """The column with a point that is closest."""
    return min(filled, key=lambda c: abs(c - column), default=None)
