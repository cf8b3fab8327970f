"""How far a long piece of grpotui's own work is: one line on stderr, drawn only where that is a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Final

from grpotui.output import draw
from grpotui.text import inert, size

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

APPEARS: Final = 0.3
"""Seconds of work before anything is drawn."""
EVERY: Final = 0.1
"""Seconds from one drawing to the next."""


class Progress:
    """A line that shows `done` of `total`; gone when the work is, however it ended."""

    def __init__(self, doing: str, name: str = "", *, show: Callable[[int], str] = size) -> None:
        """What is done and to what; `show` makes words of a number: bytes, unless it says otherwise."""
        self._doing = doing
        self._name = inert(name)
        self._show = show
        self._next = time.monotonic() + APPEARS
        self._drawn = False
        self._terminal = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, done: int, total: int | None) -> None:
        """Draws, if it is time to."""
        if not self._terminal:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY
            self._draw(done, total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._drawn:
            self._write("\r\x1b[K")

    def _draw(self, done: int, total: int | None) -> None:
        share = f" of {self._show(total)}, {min(100, 100 * done // total)} %" if total else ""
        width = _columns() - 1
        line = f"{self._doing} {self._show(done)}{share}"[:width]
        self._write(f"\r{line} {_end_of(self._name, width - len(line) - 1)}\x1b[K")
        self._drawn = True

    def _write(self, text: str) -> None:
        try:
            draw(text)
        except OSError:  # a terminal that has gone ends no work
            self._terminal = False


def _columns() -> int:
    """Of the terminal behind stderr: stdout may be a file."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or shutil.get_terminal_size().columns


def _end_of(name: str, room: int) -> str:
    """As much of a name as fits, its end before its beginning; a character that is no ASCII may be two columns wide."""
    room = room if name.isascii() else room // 2
    return name if len(name) <= room else f"…{name[1 - room :]}" if room > 1 else ""
