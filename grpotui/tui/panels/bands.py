"""How far the answers of a batch lie apart, where the framework prints it: behind the mean as a band."""

from __future__ import annotations

from array import array
from math import nan
from typing import TYPE_CHECKING, Final

from grpotui.tui.chart_parts import Band, Line
from grpotui.tui.panels.points import Points
from grpotui.tui.series import Series

if TYPE_CHECKING:
    from collections.abc import Container

    from grpotui.tui.chart_parts import Axis
    from grpotui.tui.feed.feed import Feed

_MEAN: Final = "/mean"


class Bands:
    """The band of one mean: one standard deviation about it, else from the lowest to the highest."""

    def __init__(self, mean: str) -> None:
        of = mean.removesuffix(_MEAN)
        self._deviation, self._low, self._high = Points(f"{of}/std"), Points(f"{of}/min"), Points(f"{of}/max")
        self._is_mean = mean.endswith(_MEAN)
        self._about = _About()

    def update(self, feed: Feed, axis: Axis, mean: Points, names: Container[str]) -> Band | None:
        """As far as the mean goes; None where the run prints nothing of it, or nothing that is to be believed."""
        if not self._is_mean:
            return None
        if self._deviation.metric in names and self._deviation.metric not in feed.doubts():
            self._deviation.update(feed, axis)
            return self._about.band(mean, self._deviation)
        if self._low.metric not in names or self._high.metric not in names:
            return None
        self._low.update(feed, axis)
        self._high.update(feed, axis)
        return Band("min to max", *(Line(one.metric, one.series, len(one.x)) for one in (self._low, self._high)))


class _About:
    """Mean - and + standard deviation, kept up with points that only grow."""

    def __init__(self) -> None:
        self._of: object = None
        self._clear()

    def _clear(self) -> None:
        self._x: array[float] = array("d")
        self._low: array[float] = array("d")
        self._high: array[float] = array("d")
        self._series = Series(self._x, self._low), Series(self._x, self._high)
        self._at = 0

    def band(self, mean: Points, deviation: Points) -> Band:
        """Where no deviation stands beside a mean, there is no band."""
        if self._of != (id(mean.x), id(deviation.x)):
            self._of = id(mean.x), id(deviation.x)
            self._clear()
        for done in range(len(self._x), len(mean.x)):
            x, y = mean.x[done], mean.y[done]
            while self._at < len(deviation.x) and deviation.x[self._at] < x:
                self._at += 1
            there = self._at < len(deviation.x) and deviation.x[self._at] == x
            width = deviation.y[self._at] if there else nan
            self._x.append(x)
            self._low.append(y - width)
            self._high.append(y + width)
        low, high = (Line(name, one, len(self._x)) for name, one in zip(("- std", "+ std"), self._series, strict=True))
        return Band("± std", low, high)
