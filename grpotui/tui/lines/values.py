"""What goes between a page and the thread that reads lines."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One line, as it is shown."""

    file: str
    """The log: `MEMBER/STREAM`, or a file."""
    number: int
    """In that file, from 0."""
    text: str
    more: int
    """Bytes of it that are not shown."""
    moment: int
    """Of the cursor, when it ended, or grew last."""
    is_open: bool
    """It has not ended yet."""
    is_error: bool


class Wish(NamedTuple):
    """What a page shows, or is about to."""

    files: tuple[str, ...] | None
    """Those logs; None: all."""
    words: str
    """The filter; empty: all lines."""
    begin: int | None
    """The first line that is wanted; None: the last ones."""
    most: int
    """So many lines."""
    moment: int | None
    """The cursor."""
    keep: tuple[str, int] | None = None
    """File and number of a line that is looked for among those of this wish."""
    find: tuple[str | None, int, int, int] | None = None
    """Search: words (None: errors), the line to begin with, which way, and a number that makes it another search."""


class Hit(NamedTuple):
    """What became of a search."""

    number: int
    """That of the search."""
    position: int | None
    """None: nothing there."""


class Window(NamedTuple):
    """Some lines of all that the wish means."""

    wish: Wish
    begin: int = 0
    lines: tuple[Line, ...] = ()
    total: int = 0
    """Lines that the wish means, as of its moment."""
    names: tuple[str, ...] = ()
    """All logs that there are as of it."""
    kept: int | None = None
    """Where the line is that was to be kept, or the next one."""
    hit: Hit | None = None
    left: int = 0
    """Bytes that are still to be read."""
    searched: float | None = None
    """Share of the lines that a search or a filter has looked at; None: neither is under way."""
    notes: tuple[str, ...] = ()
    """What a reader of the lines should know."""
