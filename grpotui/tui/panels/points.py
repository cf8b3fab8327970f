"""The points of one curve as far as they were asked for, and what is to be said of them in numbers."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import TYPE_CHECKING, Final

from grpotui.tui.series import Series

if TYPE_CHECKING:
    from grpotui.tui.chart_parts import Axis
    from grpotui.tui.feed.feed import Feed
    from grpotui_supervisor.source.curves import Curve
    from grpotui_supervisor.source.device_curves import Reading

RECENT: Final = 20
"""Points that the newest mean is of."""


class Points:
    """A metric's points."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.x: array[float] = array("d")
        self.y: array[float] = array("d")
        self.series = Series(self.x, self.y)
        self._axis: Axis = "step"
        self._version = 0

    def update(self, feed: Feed, axis: Axis = "step") -> tuple[bool, bool]:
        """Whether anything is new, and whether there is more to ask for."""
        version = self._version if axis == self._axis else 0
        found = self._ask(feed, version, axis)
        anew = found.version != version
        if anew:
            self.x, self.y = array("d"), array("d")
            self.series = Series(self.x, self.y)
        self._version, self._axis = found.version, axis
        self.x.extend(found.x)
        self.y.extend(found.values)
        return anew or len(found.x) > 0, found.more

    def _ask(self, feed: Feed, version: int, axis: Axis) -> Curve:
        return feed.curve(self.metric, len(self.x), version, axis)


class MemoryPoints(Points):
    """One reading of a device's memory over time, in GiB."""

    def __init__(self, gpu: str, reading: Reading) -> None:
        super().__init__(reading)
        self._gpu, self._reading = gpu, reading

    def _ask(self, feed: Feed, version: int, axis: Axis) -> Curve:  # noqa: ARG002  (there is time alone)
        return feed.memory(self._gpu, self._reading, len(self.x), version)


@dataclass(slots=True)
class Statistics:
    """Of points that only grow: each is looked at once."""

    low: tuple[float, float] = (inf, 0.0)
    """The lowest finite value and its x; the first of equal ones."""
    high: tuple[float, float] = (-inf, 0.0)
    lost: int = 0
    """Points that are not finite."""
    _done: int = 0
    _of: array[float] = field(default_factory=lambda: array("d"))

    def update(self, points: Points) -> None:
        """Takes in what is new; other points than before are taken from their first one on."""
        if points.y is not self._of:
            self.low, self.high, self.lost = (inf, 0.0), (-inf, 0.0), 0
            self._done, self._of = 0, points.y
        new = points.y[self._done :]
        if not isfinite(sum(new)):  # min() and max() are wrong where there is a NaN
            self.lost += sum(1 for value in new if not isfinite(value))
            low, high = (array("d", (v if isfinite(v) else end for v in new)) for end in (inf, -inf))
        else:
            low = high = new
        if len(new) and (lowest := min(low)) < self.low[0]:
            self.low = lowest, points.x[self._done + low.index(lowest)]
        if len(new) and (highest := max(high)) > self.high[0]:
            self.high = highest, points.x[self._done + high.index(highest)]
        self._done = len(points.y)

    @property
    def known(self) -> bool:
        """Whether there is a finite value."""
        return self.high[0] >= self.low[0]


def recent_mean(points: Points) -> float | None:
    """The mean of the finite ones among the last twenty."""
    kept = [value for value in points.y[-RECENT:] if isfinite(value)]
    return sum(kept) / len(kept) if kept else None
