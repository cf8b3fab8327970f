"""The points of one line, the stretches in which their x goes on, and their smoothed values."""

from __future__ import annotations

from array import array
from math import isfinite, nan
from operator import le
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Series:
    """Points (x[i], y[i]); both arrays are the caller's, and only ever grow at their end.

    A point without a finite x has no place and is left out. Where x falls, the training began again: there a new
    stretch begins, and the smoothed line too.
    """

    __slots__ = ("_factor", "_scanned", "_smooth", "_starts", "_state", "_stops", "x", "y")

    def __init__(self, x: array[float], y: array[float]) -> None:
        self.x, self.y = x, y
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._scanned = 0
        self._factor = 0.0
        self._smooth: array[float] = array("d")
        self._state = (0.0, 0.0)

    def __len__(self) -> int:
        return min(len(self.x), len(self.y))

    def stretches(self, count: int, done: int = 0) -> Iterator[tuple[int, int, int]]:
        """(number, start, stop) of the stretches of the first `count` points that reach beyond the first `done`."""
        self._scan(count)
        for number in range(len(self._starts) - 1, -1, -1):
            if self._stops[number] <= done:
                first = number + 1
                break
        else:
            first = 0
        for number in range(first, len(self._starts)):
            if self._starts[number] >= count:
                return
            yield number, self._starts[number], min(self._stops[number], count)

    def reach(self, count: int) -> tuple[float, float] | None:
        """Smallest and largest x of the first `count` points; None where none has a place."""
        ends = [(self.x[start], self.x[stop - 1]) for _, start, stop in self.stretches(count)]
        return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None

    def smoothed(self, count: int, factor: float) -> array[float]:
        """At least `count` values of the exponential moving average, NaN where y is not finite; y itself for factor 0.

        Debiased (Kingma & Ba 2015, section 3): m[i] = f·m[i-1] + (1-f)·y[i], divided by the same average of ones.
        """
        if factor <= 0:
            return self.y
        if factor != self._factor:
            self._factor, self._smooth, self._state = factor, array("d"), (0.0, 0.0)
        for _, start, stop in self.stretches(count, len(self._smooth)):
            self._smooth_stretch(start, stop)
        self._smooth.extend([nan] * (count - len(self._smooth)))
        return self._smooth

    def _smooth_stretch(self, start: int, stop: int) -> None:
        done, factor, y = len(self._smooth), self._factor, self.y
        average, weight = self._state if start < done else (0.0, 0.0)
        append = self._smooth.append
        for _ in range(done, start):
            append(nan)
        for index in range(max(start, done), stop):
            value = y[index]
            if isfinite(value):
                average = factor * average + (1 - factor) * value
                weight = factor * weight + (1 - factor)
                append(average / weight)
            else:
                append(nan)
        self._state = (average, weight)

    def _scan(self, count: int) -> None:
        begin, x = self._scanned, self.x
        if count <= begin:
            return
        self._scanned = count
        new = x[begin:count]
        if isfinite(new[0]) and isfinite(new[-1]) and all(map(le, new, new[1:])):
            self._note(begin, count)
            return
        for index in range(begin, count):
            if isfinite(x[index]):
                self._note(index, index + 1)

    def _note(self, start: int, stop: int) -> None:
        """Points [start, stop), among which x does not fall, go on with the last stretch or begin one."""
        if self._stops and self._stops[-1] == start and self.x[start] >= self.x[start - 1]:
            self._stops[-1] = stop
        else:
            self._starts.append(start)
            self._stops.append(stop)
