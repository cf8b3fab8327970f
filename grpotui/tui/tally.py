"""What is told of a metric in one row: last, lowest, highest, mean, trend, and its course in a few cells. Pure.

The values themselves are not kept: they are put into at most `BUCKETS` buckets, each of which holds twice as many once
all are full. A metric costs the same 5 KB however long the run is.
"""

from __future__ import annotations

from array import array
from copy import copy
from math import inf, isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.glyphs import Glyphs

BUCKETS: Final = 128
_RECENT: Final = 10
_LEVEL: Final = 0.04
"""As a chart tells it: the trend is that over the last tenth, and below 1/25 of the range it is level."""
_LEAST: Final = 3


class Tally:
    """Counts what it is given, in its order.

    Attributes:
        count: values so far.
        lost: those of them that are not finite.
        last: the newest value; None before the first.
        low, high: of the finite values; None where there is none.
        version: of the curve that was counted; whoever counts sets it.
    """

    def __init__(self) -> None:
        self.version = 0
        self.renew()

    def renew(self) -> None:
        """Nothing was counted."""
        self.count = self.lost = 0
        self.last: float | None = None
        self._total = 0.0
        self._drawn: tuple[tuple[str, int, int], list[tuple[str, str]]] | None = None
        self._room, self._size = 0, 1
        self._sums, self._highs, self._lows = array("d"), array("d"), array("d")
        self._counts, self._losses = array("Q"), array("Q")

    def copy(self) -> Tally:
        """Another one that goes on from here."""
        found = copy(self)
        for name in ("_sums", "_highs", "_lows", "_counts", "_losses"):
            setattr(found, name, getattr(self, name)[:])
        return found

    @property
    def low(self) -> float | None:
        """The lowest finite value."""
        return min(self._lows) if self.count > self.lost else None

    @property
    def high(self) -> float | None:
        """The highest finite value."""
        return max(self._highs) if self.count > self.lost else None

    @property
    def mean(self) -> float | None:
        """Of the finite values; None too where their sum is too great for a number."""
        known = self.count - self.lost
        return self._total / known if known and isfinite(self._total) else None

    def take(self, values: array[float]) -> None:
        """More values."""
        begin, end = 0, len(values)
        while begin < end:
            if not self._room:
                self._open()
            part = values[begin : begin + self._room]
            self._put(part)
            begin += len(part)
            self._room -= len(part)
        if end:
            self.last = values[-1]

    def _open(self) -> None:
        """Another bucket; all of them hold twice as many where there is no room for one."""
        if len(self._sums) == BUCKETS:
            self._size *= 2
            for name, join in (("_sums", sum), ("_counts", sum), ("_losses", sum), ("_highs", max), ("_lows", min)):
                found = getattr(self, name)
                setattr(self, name, array(found.typecode, (join(found[at : at + 2]) for at in range(0, BUCKETS, 2))))
        for name, value in (("_sums", 0.0), ("_counts", 0), ("_losses", 0), ("_highs", -inf), ("_lows", inf)):
            getattr(self, name).append(value)
        self._room = self._size

    def _put(self, part: array[float]) -> None:
        known: Sequence[float] = part
        total = sum(part)
        if not isfinite(total):
            known = [value for value in part if isfinite(value)]
            total = sum(known)
        self.count += len(part)
        self.lost += len(part) - len(known)
        self._total += total
        self._sums[-1] += total
        self._counts[-1] += len(known)
        self._losses[-1] += len(part) - len(known)
        if known:
            self._highs[-1] = max(self._highs[-1], max(known))  # noqa: PLW3301  (a star would copy)
            self._lows[-1] = min(self._lows[-1], min(known))  # noqa: PLW3301

    def trend(self) -> int | None:
        """-1 falling, 0 level, 1 rising; None where there is too little to tell."""
        means = [total / count for total, count in zip(self._sums, self._counts, strict=True) if count]
        if len(means) < _LEAST or not all(map(isfinite, means)):
            return None
        reach = max(1, len(means) // _RECENT)
        low, high = min(means), max(means)
        rise = (means[-1] / 2 - means[-1 - reach] / 2) / (high / 2 - low / 2) if high > low else 0.0
        return 0 if abs(rise) <= _LEVEL else 1 if rise > 0 else -1

    def course(self, glyphs: Glyphs, wide: int) -> list[tuple[str, str]]:
        """The highest value of each of at most `wide` cells, as runs; a cell without a finite one is marked."""
        seen = (glyphs.name, wide, self.count)
        if self._drawn is None or self._drawn[0] != seen:
            self._drawn = (seen, self._draw(glyphs, wide))
        return self._drawn[1]

    def _draw(self, glyphs: Glyphs, wide: int) -> list[tuple[str, str]]:
        count, low, high = len(self._sums), self.low, self.high
        cells = min(wide, count)
        runs: list[tuple[str, str]] = []
        for cell in range(cells):
            part = slice(cell * count // cells, (cell + 1) * count // cells)
            text, role = _glyph(glyphs, max(self._highs[part]), low, high), "line0"
            if any(self._losses[part]):
                text, role = glyphs.lost, "critical"
            if runs and runs[-1][1] == role:
                runs[-1] = (runs[-1][0] + text, role)
            else:
                runs.append((text, role))
        return runs


def _glyph(glyphs: Glyphs, value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None or not isfinite(value):
        return " "
    part = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
    levels = len(glyphs.history) - 1  # the full block of one row would run into the row above
    return glyphs.history[min(levels - 1, max(0, int(part * levels)))]
