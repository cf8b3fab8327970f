"""Searching and filtering, a chunk of lines at a time, so that whoever waits for lines to be shown never waits long."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui.tui.lines.shown import text_of

if TYPE_CHECKING:
    from grpotui.tui.lines.matching import Matcher
    from grpotui.tui.lines.pieces import Pieces, View

CHUNK: Final = 1 << 18
"""Bytes that are searched at once: 1 ms for a text, 3 ms for the errors."""
LONGEST: Final = 1 << 20
"""Bytes of one line that are searched."""
MOST: Final = 2_000_000
"""Lines that a filter shows; 8 bytes each."""


class Chunk(NamedTuple):
    """Some lines of one piece, and the position of the first."""

    piece: int
    line: int
    size: int
    position: int


def chunk_at(pieces: Pieces, view: View, position: int, way: int) -> Chunk:
    """Lines that begin (way 1), or end (-1), with that one, and are read at once."""
    piece, begin = view.piece(view.slot(position))
    first, count = pieces.first[piece], pieces.count[piece]
    size = pieces.stop[piece] - pieces.start[piece]
    room = count if size <= CHUNK else max(1, count * CHUNK // size)
    if way > 0:
        count = min(room, begin + count - position)
        return Chunk(piece, first + position - begin, count, position)
    count = min(room, position - begin + 1)
    return Chunk(piece, first + position - begin + 1 - count, count, position + 1 - count)


def read(pieces: Pieces, chunk: Chunk) -> str:
    """Its text; of lines that are very long, as far as one block goes."""
    index = pieces.indexes[pieces.file[chunk.piece]]
    own = pieces.first[chunk.piece]
    end = chunk.line + chunk.size
    begin = pieces.start[chunk.piece] if chunk.line == own else index.offset(chunk.line)
    stop = pieces.stop[chunk.piece] if end == own + pieces.count[chunk.piece] else index.offset(end)
    return text_of(index.read(begin, min(stop - begin, LONGEST)))


class Filter:
    """The lines of a view that match, as far as it was searched."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.found = array("Q")
        """Their positions in the view."""
        self.done = 0
        """Lines that were searched."""

    def advance(self, pieces: Pieces, view: View, total: int) -> bool:
        """Searches one chunk; False once all lines that have ended are searched, or too many match."""
        if self.done >= total or self.is_full:
            return False
        chunk = chunk_at(pieces, view, self.done, 1)
        self.found.extend(chunk.position + n for n in self.matcher.lines(read(pieces, chunk)) if n < chunk.size)
        self.done += chunk.size
        return self.done < total

    @property
    def is_full(self) -> bool:
        """Whether there are more than are shown."""
        return len(self.found) >= MOST

    def below(self, position: int) -> int:
        """How many of them are before a line of the view."""
        return bisect_left(self.found, position)

    def __contains__(self, position: int) -> bool:
        at = self.below(position)
        return at < len(self.found) and self.found[at] == position


class Search:
    """Goes from line to line until one matches.

    Attributes:
        asked: the line to begin with, as lines are shown.
        position: the next one to look at in the view; None before the first.
        hit: the one in the view that was found.
    """

    def __init__(self, matcher: Matcher, asked: int, way: int) -> None:
        self.matcher = matcher
        self.asked = asked
        self.way = way
        self.position: int | None = None
        self.hit: int | None = None

    def advance(self, pieces: Pieces, view: View, total: int, among: Filter | None) -> bool:
        """Searches one chunk of the lines that have ended; False once there is a hit, or nothing more."""
        if self.position is None or not 0 <= self.position < total:
            return False
        chunk = chunk_at(pieces, view, self.position, self.way)
        found = [
            at
            for number in self.matcher.lines(read(pieces, chunk))
            if number < chunk.size and ((at := chunk.position + number) < total) and (among is None or at in among)
        ]
        self.position = chunk.position + chunk.size if self.way > 0 else chunk.position - 1
        if found:
            self.hit = found[0] if self.way > 0 else found[-1]
        return not found and 0 <= self.position < total
