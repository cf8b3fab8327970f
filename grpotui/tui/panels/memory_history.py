"""How the driver's count of each device's memory went since the start, a line a device beside its meter."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from grpotui.text import duration
from grpotui.tui import cells
from grpotui.tui.panels.framed import Framed
from grpotui.tui.panels.points import MemoryPoints, Statistics

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.glyphs import Glyphs


_BLOCK: Final = 256


class MemoryHistory(Framed):
    """From nothing to the most that was in use; how much that is of all the device has, its meter tells."""

    title = "history"

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[str, tuple[MemoryPoints, Statistics, Peaks]] = {}
        self._gpus: list[str] = []
        self._now = 0.0
        self._seen: object = None

    def show(self, feed: Feed, frame: Frame) -> None:
        """The newest frame."""
        document = frame.document
        self._gpus = [gpu["gpu"] for gpu in document["gpus"]]
        self._now = (document.get("as_of") or {}).get("offset_s") or 0.0
        changed = False
        for key in self._gpus:
            if key not in self._lines:
                self._lines[key] = MemoryPoints(key, "driver"), Statistics(), Peaks()
            points, found, peaks = self._lines[key]
            changed = points.update(feed)[0] or changed
            found.update(points)
            peaks.update(points.y)
        seen = (self._gpus, self._now)
        if changed or seen != self._seen:
            self._seen = seen
            self.redraw()

    def head(self, wide: int) -> list[Run]:
        """Of what time."""
        text = duration(self._now)
        return [(text, "label")] if self._now and cells.width(text) <= wide else []

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """A line a device, in the order of the meters."""
        if not self._gpus:
            return [[("no readings", "label")]]
        shown = self._gpus if len(self._gpus) <= high else self._gpus[: high - 1]
        return [self._row(glyphs, key, wide) for key in shown]

    def _row(self, glyphs: Glyphs, key: str, wide: int) -> list[Run]:
        points, found, peaks = self._lines[key]
        if not found.known:
            return [("no reading", "label")]
        most = f" max {found.high[0]:.1f}"
        levels = held(points.x, peaks, self._now, wide - cells.width(most))
        return [(_cells(glyphs, levels, found.high[0]), "line0"), (most, "label")]


class Peaks:
    """The highest of each block of readings, so that a day of them is not looked through for each picture."""

    def __init__(self) -> None:
        self._of: array[float] = array("d")
        self._tops: array[float] = array("d")

    def update(self, values: array[float]) -> None:
        """Takes in the blocks that are full now; other values than before are taken from their first one on."""
        if values is not self._of:
            self._of, self._tops = values, array("d")
        for begin in range(len(self._tops) * _BLOCK, len(values) - _BLOCK + 1, _BLOCK):
            self._tops.append(max(values[begin : begin + _BLOCK]))

    def most(self, begin: int, end: int) -> float | None:
        """Of the values [begin, end); None where there are none."""
        first, last = -(-begin // _BLOCK), end // _BLOCK
        if first >= last:
            return max(self._of[begin:end], default=None)
        return max((*self._of[begin : first * _BLOCK], *self._tops[first:last], *self._of[last * _BLOCK : end]))


def held(x: array[float], peaks: Peaks, end: float, count: int) -> list[float | None]:
    """The most in each of `count` parts of the time until `end`; a reading, taken at its x, holds until the next."""
    levels: list[float | None] = []
    begin = 0
    for part in range(max(0, count)):
        stop = bisect_right(x, end * (part + 1) / count, begin)
        levels.append(peaks.most(max(0, begin - 1), stop))
        begin = stop
    return levels


def _cells(glyphs: Glyphs, levels: list[float | None], top: float) -> str:
    steps = glyphs.history
    return "".join(
        " " if level is None else steps[min(len(steps) - 1, int(level / top * len(steps)) if top > 0 else 0)]
        for level in levels
    )


def has_readings(document: Mapping[str, Any]) -> bool:
    """Whether there is any device to show the history of."""
    return any(gpu["sample_age_s"] is not None for gpu in document["gpus"])
