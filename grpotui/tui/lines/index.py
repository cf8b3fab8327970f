"""Where the lines of one file are, found by counts of line ends: 8 bytes for each 64 KiB, however large it is."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from grpotui.tui.lines.shown import LIMIT
from grpotui_supervisor.follow import read_range

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP: Final = 1 << 16
"""Bytes between two counts, and about what is read to find a line: 30 µs."""
BLOCK: Final = 1 << 20
"""Bytes that are counted at once: 0.3 ms."""


class LineIndex:
    """Of the beginning of a file, as far as it was asked to read; a file that shrinks needs a new one.

    Attributes:
        scanned: bytes that were read.
        newlines: line ends among them.
        stop: where the line begins that has not ended.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.scanned = 0
        self.newlines = 0
        self.stop = 0
        self._counts = array("Q", [0])

    def grow(self, end: int) -> bool:
        """Reads at most a block on towards `end`; False where the file does not reach that far."""
        begin = self.scanned
        data = self.read(begin, min(BLOCK, end - begin))
        at = 0
        while at < len(data):
            cut = min(len(data), at + STEP - (begin + at) % STEP)
            self.newlines += data.count(b"\n", at, cut)
            at = cut
            if (begin + at) % STEP == 0:
                self._counts.append(self.newlines)
        last = data.rfind(b"\n")
        if last >= 0:
            self.stop = begin + last + 1
        self.scanned += len(data)
        return bool(data)

    def offset(self, line: int) -> int:
        """Where a line begins; lines count from 0, and `newlines` is the one that has not ended."""
        if line <= 0:
            return 0
        block = bisect_left(self._counts, line) - 1
        data, at = self.read(block * STEP, STEP), -1
        for _ in range(line - self._counts[block]):
            at = data.find(b"\n", at + 1)
            if at < 0:  # the file is another one by now
                return block * STEP + len(data)
        return block * STEP + at + 1

    def read(self, begin: int, size: int) -> bytes:
        """So many bytes, or those that are there."""
        return b"".join(read_range(self.path, begin, begin + max(0, size)))

    def lines(self, first: int, count: int, stop: int) -> Iterator[tuple[bytes, int]]:
        """Bytes of lines before offset `stop`, of a long one those that are shown, and how many it has."""
        begin, end = self.offset(first), first + count
        while first < end:
            data, at = self.read(begin, min(STEP, stop - begin)), 0
            if not data:
                return
            while first < end and (found := data.find(b"\n", at)) >= 0:
                yield self._cut(data[at:found], begin + at, found - at), found - at
                at, first = found + 1, first + 1
            begin += at
            if first < end and not at:  # a line that is longer than all that, or has not ended
                following = self.offset(first + 1) - 1 if first < self.newlines else stop
                yield self._cut(data, begin, max(0, following - begin)), max(0, following - begin)
                begin, first = following + 1, first + 1

    def _cut(self, data: bytes, begin: int, size: int) -> bytes:
        """Its beginning; of a progress bar its end, where the last state is."""
        if size <= LIMIT:
            return data[:size]
        return data[:LIMIT] if b"\r" not in data[:LIMIT] else self.read(begin + size - LIMIT, LIMIT)
