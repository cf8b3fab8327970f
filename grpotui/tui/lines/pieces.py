"""All lines of all logs in the order of the moments at which they ended, as far as a cursor has come."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from grpotui.tui.lines.index import LineIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.lines.growth import Growth


class Place(NamedTuple):
    """A line in its file, and where its bytes are."""

    piece: int
    line: int
    """In its file, from 0."""
    stop: int | None
    """Where the bytes that may be shown end, of a line that has not ended; None: at its line end."""


class Pieces:
    """A piece is what a log grew by at one moment. About 50 bytes each, and nothing a line.

    A line has its place where it ended; those that have not ended as of the cursor come last, such as a progress bar
    that is redrawn for hours.

    Attributes:
        names: the logs, in the order in which they began.
        version: another one, once pieces that were told are no longer so.
    """

    def __init__(self, growth: Growth) -> None:
        self.names: list[str] = []
        self.version = 0
        self.moments, self.file = array("q"), array("I")
        self.first, self.count = array("Q"), array("Q")
        self.start, self.stop, self.end = array("Q"), array("Q"), array("Q")
        self.of_file: list[array[int]] = []
        self.indexes: list[LineIndex] = []
        self.cut: set[int] = set()
        self.short: set[int] = set()
        self._growth = growth
        self._number: dict[str, int] = {}
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._told: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.moments)

    def take(self) -> bool:
        """What is new on record. Whether there is any."""
        for moment, name, size in self._growth.news():
            number = self._number.setdefault(name, len(self.names))
            if number == len(self.names):
                self.names.append(name)
                self.indexes.append(LineIndex(self._growth.path(name)))
                self.of_file.append(array("I"))
            if size != self._told.get(number, 0):
                self._told[number] = size
                self._waiting.append((moment, number, size))
        return bool(self._waiting)

    def advance(self) -> bool:
        """Reads on by a block at most; False once all of it is known."""
        if not self._waiting:
            return False
        moment, number, size = self._waiting[0]
        index = self.indexes[number]
        if size < index.scanned:
            index = self._forget(number)
        if index.scanned < size:
            if index.grow(size) and index.scanned < size:
                return True
            (self.short.discard if index.scanned == size else self.short.add)(number)
        self._waiting.popleft()
        self._append(moment, number, index)
        return bool(self._waiting)

    @property
    def left(self) -> int:
        """Bytes that are still to be read."""
        ends = {number: size for _, number, size in self._waiting}
        return sum(max(0, size - self.indexes[number].scanned) for number, size in ends.items())

    def prefix(self, moment: int | None) -> int:
        """How many pieces there were at a moment."""
        return len(self) if moment is None else bisect_right(self.moments, moment)

    def last_of(self, number: int, prefix: int) -> int | None:
        """The newest piece of a file among the first so many."""
        own = self.of_file[number]
        at = bisect_left(own, prefix) - 1
        return own[at] if at >= 0 else None

    def opens(self, numbers: Sequence[int], prefix: int) -> list[Place]:
        """The lines that have not ended, the one that grew last at the end."""
        last = sorted(piece for n in numbers if (piece := self.last_of(n, prefix)) is not None)
        return [
            Place(piece, self.first[piece] + self.count[piece], self.end[piece])
            for piece in last
            if self.end[piece] > self.stop[piece]
        ]

    def piece_of(self, number: int, line: int) -> int | None:
        """The piece in which a line of a file ended."""
        own = self.of_file[number]
        at = bisect_right(own, line, key=lambda piece: self.first[piece]) - 1
        while at >= 0 and not self.count[own[at]]:
            at -= 1
        return own[at] if at >= 0 and line < self.first[own[at]] + self.count[own[at]] else None

    def _append(self, moment: int, number: int, index: LineIndex) -> None:
        own = self.of_file[number]
        before = own[-1] if own else None
        first = 0 if before is None else self.first[before] + self.count[before]
        self.start.append(0 if before is None else self.stop[before])
        own.append(len(self))
        self.moments.append(max(moment, self.moments[-1]) if self.moments else moment)
        self.file.append(number)
        self.first.append(first)
        self.count.append(index.newlines - first)
        self.stop.append(index.stop)
        self.end.append(index.scanned)

    def _forget(self, number: int) -> LineIndex:
        """The file was cut off: what it held before is nowhere any more."""
        for piece in self.of_file[number]:
            for column in (self.first, self.count, self.start, self.stop, self.end):
                column[piece] = 0
        self.cut.add(number)
        self.version += 1
        self.indexes[number] = LineIndex(self.indexes[number].path)
        return self.indexes[number]


class View:
    """The lines of some of the files, numbered in the order of the pieces."""

    def __init__(self, pieces: Pieces, numbers: Sequence[int] | None) -> None:
        """`numbers`: those files; None: all, also those that come later."""
        self._pieces = pieces
        self._numbers = numbers
        self._ids, self._before = array("I"), array("Q", [0])
        self._taken = 0
        self.version = pieces.version

    @property
    def numbers(self) -> Sequence[int]:
        """Its files."""
        return range(len(self._pieces.names)) if self._numbers is None else self._numbers

    def extend(self) -> None:
        """Takes in what was read since."""
        pieces, wanted = self._pieces, None if self._numbers is None else set(self._numbers)
        for piece in range(self._taken, len(pieces)):
            if pieces.count[piece] and (wanted is None or pieces.file[piece] in wanted):
                self._ids.append(piece)
                self._before.append(self._before[-1] + pieces.count[piece])
        self._taken = len(pieces)

    def __len__(self) -> int:
        """Pieces with lines."""
        return len(self._ids)

    def whole(self, prefix: int) -> int:
        """How many lines had ended with the first so many pieces."""
        return self._before[bisect_left(self._ids, prefix)]

    def slot(self, position: int) -> int:
        """Which of its pieces a line is in; the last one for what lies behind."""
        return min(bisect_right(self._before, position) - 1, len(self._ids) - 1)

    def piece(self, slot: int) -> tuple[int, int]:
        """A piece, and the position of its first line."""
        return self._ids[slot], self._before[slot]

    def place(self, position: int) -> Place:
        """Where a line that has ended is."""
        piece, begin = self.piece(self.slot(position))
        return Place(piece, self._pieces.first[piece] + position - begin, None)

    def position(self, piece: int, line: int) -> int:
        """Of a line of a piece; where another file's is not among them, of the next line."""
        slot = bisect_left(self._ids, piece)
        if slot < len(self._ids) and self._ids[slot] == piece:
            return self._before[slot] + line - self._pieces.first[piece]
        return self._before[slot]
