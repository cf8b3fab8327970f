"""What every framework's log reader offers, and the parts all of them need: lines, numbers, progress bars.

A reader is pure: bytes in, columns out, no clock and no files. No text makes it raise, and how the bytes are
cut into blocks never changes what it ends up with. A line is read when its end (a newline or a carriage
return) has come, so a number is never read before all of its digits are there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.logs.columns import Columns

LINE_LIMIT: Final = 1 << 20
"""Bytes kept of one line; the longest metric line in our logs has 2.3 kB."""

HEAD_LIMIT: Final = 512
"""Bytes of an unfinished line that are looked at for a progress bar."""

CUT_MARK: Final = "…"
"""Stands where an overlong line was cut, so that the number before it does not pass for a whole one."""

BAR: Final = r"[0-9]{1,3}%(?:\|[^|]*\|)? *([0-9]{1,12})/([0-9]{1,12}) \["
"""Percentage, bar and `n/N [` of tqdm; a bar copied out of a notebook has no `|...|`."""

PREFIX: Final = (
    r"(?:\([^()\n]{1,80}\) *){0,3}"  # Ray's and vLLM's processes
    r"(?:(?:INFO|WARNING|DEBUG)[ :|][^\]\n]{1,90}\] |(?:INFO|WARNING|DEBUG):[\d :,-]{10,30}:"
    r"|\[INFO\|[^\]\n]{1,60}\] [\d:, -]{10,30}>> |\[INFO:swift\] |\[[^\]\n]{8,60}\] |INFO: +)?"
)
"""What may stand before a framework's own words: the names of processes, and a logger's time and place."""
LINE_END: Final = re.compile(rb"[\r\n]+")

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_FLOAT = r"[-+]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[Nn]a[Nn]|[Ii]nf(?:inity)?)"
_NUMBER = re.compile(rf"np\.\w+\(({_FLOAT})\)|({_FLOAT})")
_NUMBER_LIMIT = 512  # `%.3f` of the largest double has 313 characters
_WORDS = {"True": 1.0, "False": 0.0}


class Reader(Protocol):
    """Reads one member's log as it grows.

    Raises nothing: what cannot be read is not a metric.
    """

    @property
    def framework(self) -> str:
        """Name of the framework, as a profile spells it."""

    @property
    def columns(self) -> Columns:
        """The metrics so far, by the framework's own keys."""

    @property
    def step(self) -> int | None:
        """The last step the log shows to be done; None before the first."""

    @property
    def steps_total(self) -> int | None:
        """How many steps the run will make, when the log tells."""

    @property
    def training_complete(self) -> bool:
        """Whether the log says that training ran to its end. It says nothing about how the process ended."""

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:
        """Read the next bytes of a stream: "stdout" or "stderr", each with its own unfinished line."""


class Lines:
    """Cuts one byte stream into lines of plain text, at newline and carriage return, in bounded memory.

    Empty lines are left out, control sequences removed, bad UTF-8 replaced, and of a line longer than
    `LINE_LIMIT` only the beginning is kept.
    """

    __slots__ = ("_cut", "_open")

    def __init__(self) -> None:
        self._open = bytearray()
        self._cut = False

    def feed(self, block: bytes) -> list[str]:
        """The lines that end in this block."""
        lines: list[str] = []
        start = 0
        for end in LINE_END.finditer(block):
            self._keep(block, start, end.start())
            start = end.end()
            if self._open:
                lines.append(self._take())
        self._keep(block, start, len(block))
        return lines

    def head(self) -> str:
        """The beginning of the line that has not ended yet, up to its first control sequence.

        A progress bar is redrawn with a carriage return in front of it: without this look ahead, a step that
        takes a minute is shown a minute late.
        """
        return self._open[:HEAD_LIMIT].partition(b"\x1b")[0].decode("utf-8", "replace")

    def _keep(self, block: bytes, start: int, end: int) -> None:
        room = LINE_LIMIT - len(self._open)
        self._open += block[start : min(end, start + room)]
        self._cut |= end - start > room

    def _take(self) -> str:
        text = plain(self._open.decode("utf-8", "replace"))
        text += CUT_MARK if self._cut else ""
        self._open.clear()
        self._cut = False
        return text


class Spans:
    """Cuts one byte stream into spans of whole lines, without copying them.

    A span is `(data, begin, end)`: `data[begin:end]` holds whole lines and ends with a line's end. A reader that
    searches in spans instead of taking lines one by one is spared 100 ns for each line that does not concern it.
    Of a line longer than `LINE_LIMIT` only the beginning is there, so a span is never longer than that either.
    """

    __slots__ = ("_cut", "_open")

    def __init__(self) -> None:
        self._open = bytearray()
        self._cut = False

    def feed(self, block: bytes) -> Iterator[tuple[bytes, int, int]]:
        """The spans that end in this block. All of them must be taken."""
        newline = block.rfind(b"\n")
        end = max(newline, block.rfind(b"\r", newline + 1)) + 1
        begin = 0
        if self._open and (first := LINE_END.search(block)):
            begin = first.end()
            self._keep(block, 0, first.start())
            line = self._take()
            yield line, 0, len(line)
        while end - begin > LINE_LIMIT + 1:
            newline = block.rfind(b"\n", begin, begin + LINE_LIMIT + 1)
            middle = max(newline, block.rfind(b"\r", max(newline, begin), begin + LINE_LIMIT + 1)) + 1
            if not middle:
                self._keep(block, begin, begin + LINE_LIMIT + 1)
                line = self._take()
                yield line, 0, len(line)
                begin = _behind_line_end(block, begin + LINE_LIMIT + 1)
                continue
            yield block, begin, middle
            begin = middle
        if begin < end:
            yield block, begin, end
        if end < len(block):
            self._keep(block, end, len(block))

    def head(self) -> str:
        """As `Lines.head`."""
        return self._open[:HEAD_LIMIT].partition(b"\x1b")[0].decode("utf-8", "replace")

    def _keep(self, block: bytes, start: int, end: int) -> None:
        room = LINE_LIMIT - len(self._open)
        self._open += block[start : min(end, start + room)]
        self._cut |= end - start > room

    def _take(self) -> bytes:
        line = bytes(self._open) + (CUT_MARK.encode() if self._cut else b"") + b"\n"
        self._open.clear()
        self._cut = False
        return line


def line_start(data: bytes, begin: int, at: int) -> int:
    """Where the line begins that holds `data[at]`, in a span that begins at `begin`."""
    start = data.rfind(b"\n", begin, at) + 1 or begin
    return data.rfind(b"\r", start, at) + 1 or start


def _behind_line_end(block: bytes, start: int) -> int:
    found = LINE_END.search(block, start)
    return len(block) if found is None else found.end()


def plain(text: str) -> str:
    """The text without escape sequences and control characters (tabs stay)."""
    return text if text.isprintable() else _CONTROL.sub("", text)


def number(text: str) -> float | None:
    """A number as Python, numpy or a format string prints it; None for any other text.

    Reads `1e-06`, `nan`, `-inf`, `np.float64(0.5)`, `True`. Stricter than `float()`, which also takes `1_000`
    and digits of other scripts.
    """
    if len(text) > _NUMBER_LIMIT:
        return None
    match = _NUMBER.fullmatch(text)
    return float(match[1] or match[2]) if match else _WORDS.get(text)
