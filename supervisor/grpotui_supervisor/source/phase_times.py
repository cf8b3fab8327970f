"""When which phase was under way, as one teller told it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Span(NamedTuple):
    """A phase from its beginning to the next change, in monotonic nanoseconds."""

    phase: str
    begin: int
    end: int


class PhaseTimes:
    """Changes of the phase, in the order of their times.

    Attributes:
        late_ns: how much later than it happened a change may have been seen.
    """

    __slots__ = ("_moments", "_names", "late_ns")

    def __init__(self, *, late_ns: int) -> None:
        self.late_ns = late_ns
        self._moments = array("q")
        self._names: list[str | None] = []

    def __len__(self) -> int:
        return len(self._names)

    def put(self, m: int, phase: str | None) -> None:
        """From then on it is this phase; None: nobody tells. What comes out of order is left out."""
        if (self._names and (self._names[-1] == phase or m < self._moments[-1])) or m < 0:
            return
        self._moments.append(m)
        self._names.append(phase)

    def spans(self, begin: int, end: int) -> Iterator[Span]:
        """The phases that began between these moments and have ended since."""
        moments, names = self._moments, self._names
        for index in range(bisect_left(moments, begin), min(bisect_left(moments, end), len(moments) - 1)):
            name = names[index]
            if name is not None:
                yield Span(name, moments[index], moments[index + 1])

    def around(self, begin: int, end: int, most: int) -> list[Span] | None:
        """Those that were under way between these moments, the last one until `end`; None: more than `most` are."""
        moments, names = self._moments, self._names
        first, last = max(0, bisect_right(moments, begin) - 1), bisect_left(moments, end)
        if last - first > most:
            return None
        if last <= first:
            return []
        ends = (*moments[first + 1 : last], end)
        return [
            Span(name, max(begin, moments[first + at]), until)
            for at, (name, until) in enumerate(zip(names[first:last], ends, strict=True))
            if name is not None and until > begin
        ]
