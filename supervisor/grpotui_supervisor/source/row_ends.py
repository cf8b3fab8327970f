"""Up to which byte of a bare log a record of metrics is there: what makes a line later than the cursor."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.follow import read_range
from grpotui_supervisor.logs import reader_for

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST: Final = 1 << 10
MOST: Final = 1 << 16
"""Bytes that are fed at once to a reader; smaller pieces would make it slower."""
_PARTS: Final = 4096
_READ_AGAIN: Final = 100
"""Pieces with several records that are looked into line by line: 3 ms each."""


def grain(size: int | None) -> int:
    """So many bytes of a log of that size are one piece; None: it is a pipe, in which nobody goes back."""
    return MOST if size is None else min(MOST, max(LEAST, size // _PARTS))


def pieces(block: bytes, most: int) -> Iterator[bytes]:
    """A block in pieces of about that size, which end with a line where there is one."""
    begin = 0
    while begin < len(block):
        end = block.find(b"\n", begin + most - 1) + 1
        end = end if 0 < end <= begin + 2 * most else min(begin + most, len(block))
        yield block[begin:end]
        begin = end


class RowEnds:
    """Ascending ends of the rows, and where the pieces ended in which they came.

    Attributes:
        total: bytes that were read.
    """

    def __init__(self) -> None:
        self.total = 0
        self._ends = array("Q")

    def take(self, size: int, rows: int) -> None:
        """A piece was read, and there are so many rows now."""
        self.total += size
        if rows > len(self._ends):
            self._ends.extend([self.total] * (rows - len(self._ends)))

    def exact(self, path: str, framework: str | None, size: int) -> array[int]:
        """The same, but where several rows came in one piece each has the end of its own line, if that can be told.

        `size` is that of a piece.
        """
        found, row, again = array("Q", self._ends), 0, 0
        while row < len(found):
            behind = bisect_right(found, found[row], lo=row)
            if behind - row > 1 and again < _READ_AGAIN and framework is not None:
                again += 1
                ends = _ends_in(path, max(0, found[row] - 2 * size), found[row], framework)
                if len(ends) >= behind - row:
                    found[row:behind] = array("Q", ends[row - behind :])
            row = behind
        return found


def _ends_in(path: str, begin: int, end: int, framework: str) -> list[int]:
    """Where each record ends that a fresh reader finds in these bytes."""
    reader = reader_for(framework)
    ends: list[int] = []
    if reader is None:
        return ends
    data = b"".join(read_range(path, begin, end))
    at = data.find(b"\n") + 1 if begin else 0
    while at < len(data):
        stop = data.find(b"\n", at) + 1 or len(data)
        reader.feed(data[at:stop])
        ends += [begin + stop] * (len(reader.columns) - len(ends))
        at = stop
    return ends
