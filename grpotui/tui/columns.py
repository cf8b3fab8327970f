"""Lowest, highest and mean value of the points in each dot column, kept up to date at the cost of the last columns."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from math import ceil, inf, isfinite, log2, nan, ulp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grpotui.tui.series import Series

_STEPS = 64
"""Column widths are 2^(k/64): what grows keeps its columns until it is 1.1 % longer, and the newest point stands at
most that far from the right edge. Columns that moved with each new point would cost the whole run, and shimmer."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the columns are: column c holds origin + c·width ≤ x < origin + (c + 1)·width."""

    origin: float
    width: float
    columns: int

    @classmethod
    def fitted(cls, low: float, high: float, columns: int) -> Grid:
        """All of [low, high]; the same for the same points, whatever was drawn before."""
        least = (high / 2 - low / 2) / max(1, columns - 1) * 2
        rounding = 4 * ulp(max(abs(low), abs(high)))
        if not least > 0:
            return cls(low, max(1.0, rounding), columns)
        exact = 2.0 ** (ceil(_STEPS * log2(least)) / _STEPS) if least < 1e300 else least
        return cls(low, max(exact, least * (1 + 1e-12), least + rounding), columns)

    @classmethod
    def window(cls, low: float, high: float, columns: int) -> Grid:
        """Exactly [low, high], which may be less or more than there are points for."""
        return cls(low, max((high - low) / columns * (1 + 1e-9), 1e-300), columns)

    def border(self, column: int) -> float:
        """Where a column begins."""
        return self.origin + column * self.width

    def column(self, x: float) -> int:
        """The column of a finite x, between 0 and the last one; `border` has the last word against rounding."""
        place = (x - self.origin) / self.width
        found = 0 if place <= 0 else int(min(place, self.columns - 1))
        while found + 1 < self.columns and x >= self.border(found + 1):
            found += 1
        while found and x < self.border(found):
            found -= 1
        return found

    def shows(self, x: float) -> bool:
        """Whether an x is among the columns."""
        return self.origin <= x < self.border(self.columns)


class Columns:
    """The columns of one series: `low` and `high` over every finite point, `mean` of the (smoothed) line.

    A column without finite points has low = inf, high = -inf and mean = nan. Where two stretches meet in a column, its
    line is that of the later one. `lost` counts the points that are not finite.
    """

    def __init__(self) -> None:
        self.grid = Grid(0.0, 1.0, 0)
        self.number = 0
        self._clear(self.grid)

    def _clear(self, grid: Grid) -> None:
        n = grid.columns
        self.grid, self.number = grid, 0
        self.low, self.high, self.mean = (array("d", [v]) * n for v in (inf, -inf, nan))
        self.lost, self.stretch = [0] * n, [-1] * n
        self._key: object = None
        self._done = 0
        self._open: tuple[int, int, int, tuple[float, float, float, int, int]] | None = None

    def update(self, series: Series, count: int, grid: Grid, smoothing: float = 0.0) -> None:
        """The first `count` points of the series; points that were taken before are not looked at again."""
        key = (id(series.x), id(series.y), smoothing)
        if grid != self.grid or key != self._key or count < self._done:
            self._clear(grid)
            self._key = key
        line = series.smoothed(count, smoothing)
        for stretch, start, stop in series.stretches(count, self._done):
            self._fill(series, line, stretch, self._reopened(stretch, start), stop)
        self._done = count
        self.number = count

    def _reopened(self, stretch: int, start: int) -> int:
        """The column that the last point went into is taken anew: so its mean is the one of all of it at once."""
        if self._open is None or self._open[2] != stretch:
            return start
        column, begin, _, before = self._open
        self.low[column], self.high[column], self.mean[column], self.lost[column], self.stretch[column] = before
        return begin

    def _fill(self, series: Series, line: array[float], stretch: int, start: int, stop: int) -> None:
        x, grid = series.x, self.grid
        at = bisect_left(x, grid.origin, start, stop)
        stop = bisect_left(x, grid.border(grid.columns), at, stop)
        while at < stop:
            c = grid.column(x[at])
            end = max(bisect_left(x, grid.border(c + 1), at, stop), at + 1)
            before = (self.low[c], self.high[c], self.mean[c], self.lost[c], self.stretch[c])
            self._open = (c, at, stretch, before)
            self._take(c, stretch, series.y[at:end], line[at:end])
            at = end

    def _take(self, column: int, stretch: int, values: array[float], line: array[float]) -> None:
        kept: array[float] | list[float] = values
        if not isfinite(sum(values)):  # min() and max() are wrong where there is a NaN
            kept = [v for v in values if isfinite(v)]
            self.lost[column] += len(values) - len(kept)
        if not kept:
            return
        low, high = min(kept), max(kept)
        self.low[column] = min(self.low[column], low)
        self.high[column] = max(self.high[column], high)
        self.mean[column] = mean(line)
        self.stretch[column] = stretch

    def extent(self) -> tuple[float, float] | None:
        """Lowest and highest value shown."""
        low = min(self.low, default=inf)
        return (low, max(self.high)) if low < inf else None


def mean(values: array[float]) -> float:
    """The mean of the finite ones of at least one value, nan without any; huge ones do not overflow."""
    total = sum(values)
    if isfinite(total):
        return total / len(values)
    kept = [v for v in values if isfinite(v)]
    return sum(v / len(kept) for v in kept) if kept else nan
