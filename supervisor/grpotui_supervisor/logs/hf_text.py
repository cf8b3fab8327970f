"""Whole lines of a growing log as one text: what the readers of the Hugging Face family search in.

Searching a block at once is six times as fast as looking at each line. A block is cut after its last line end, so
how bytes arrive never changes which lines are seen; a line is seen when it has ended, and of a line longer than
`LINE_LIMIT` only the beginning. Line ends (newline and carriage return) stay in the text: they tell a redrawn
progress bar from a copied one.
"""

from __future__ import annotations

import re
from typing import Final

from grpotui_supervisor.logs.reader import CUT_MARK, HEAD_LIMIT, LINE_LIMIT

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
_CONTROL_BYTES: Final = bytes(byte for byte in range(0x20) if byte not in b"\t\n\r") + b"\x7f"
_C1_LEAD = b"\xc2"
_CUT = CUT_MARK.encode()


class WholeLines:
    """Collects the bytes of one stream until lines are whole."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open = bytearray()

    def feed(self, block: bytes) -> str:
        """The lines that end in this block, with their line ends and without control sequences."""
        end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if not end:
            self._keep(block)
            return ""
        whole = bytes(self._open) + block[:end] if self._open else block[:end]
        self._open.clear()
        self._keep(block[end:])
        return clean(whole if len(whole) <= LINE_LIMIT else shortened(whole))

    def head(self) -> str:
        """The beginning of the line that has not ended yet, up to its first control sequence."""
        return self._open[:HEAD_LIMIT].partition(b"\x1b")[0].decode("utf-8", "replace")

    def _keep(self, rest: bytes) -> None:
        """One byte more than the limit is kept, so that a line that was cut is seen to be too long."""
        self._open += rest[: LINE_LIMIT + 1 - len(self._open)]


def clean(data: bytes) -> str:
    """Text without escape sequences and control characters; tabs and line ends stay, bad UTF-8 is replaced."""
    text = data.decode("utf-8", "replace")
    spotless = len(data.translate(None, _CONTROL_BYTES)) == len(data) and _C1_LEAD not in data
    return text if spotless else _CONTROL.sub("", text)


def shortened(whole: bytes) -> bytes:
    """The same lines, each cut to `LINE_LIMIT`; the mark keeps a number before it from passing for a whole one."""
    pieces: list[bytes] = []
    kept = start = 0
    while len(whole) - start > LINE_LIMIT:
        limit = start + LINE_LIMIT
        end = max(whole.rfind(b"\n", start, limit + 1), whole.rfind(b"\r", start, limit + 1))
        if end < 0:
            pieces += (whole[kept:limit], _CUT)
            kept = start = _line_end(whole, limit)
        else:
            start = end + 1
    return b"".join((*pieces, whole[kept:]))


def _line_end(data: bytes, start: int) -> int:
    return min(end for end in (data.find(b"\n", start), data.find(b"\r", start)) if end >= 0)
