"""The last lines of one member, as of the cursor; read beside the screen, and never more than the end of a log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from textual.worker import get_current_worker

from grpotui.text import member_name
from grpotui.tui import cells
from grpotui.tui.panels.framed import Framed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.glyphs import Glyphs

_TAIL_BYTES: Final = 64 << 10
_LINES: Final = 200
_BAR: Final = re.compile(r"([^|%]{0,80}?)\s*\d{1,3}%\|")
_ROWS: Final = 4
"""Of one line."""
_STREAMS: Final = (("err", "stderr.log"), ("out", "stdout.log"))

Lines = tuple[tuple[str, tuple[str, ...]], ...]
"""Of each stream its short name and its last lines."""


class LastLines(Framed):
    """Both streams of a member: which of their lines came first nobody recorded, so that each has its own part."""

    def __init__(self) -> None:
        super().__init__()
        self.title = "last lines"
        self._wanted: tuple[tuple[str, str, int], ...] | None = None
        self._lines: Lines = ()
        self._absent = ""

    def update(self, feed: Feed, member: Mapping[str, Any] | None) -> None:
        """The member whose lines are to be seen; they are read again only where its logs have grown, or shrunk."""
        if member is None:
            return
        folder = member["member"] if member["owned"] or member["rank"] is None else str(member["rank"])
        sizes = feed.log_sizes()
        names = [(short, f"{folder}/{name}") for short, name in _STREAMS]
        wanted = tuple((short, feed.log_path(name), sizes[name]) for short, name in names if sizes.get(name))
        title = f"last lines of {member_name(member)}"
        if wanted == self._wanted and title == self.title:
            return
        self._wanted, self.title = wanted, title
        self._absent = _why_none(member)
        if not wanted:
            self._take(wanted, ())
        else:
            self.run_worker(lambda: self._read(wanted), thread=True, group="last lines", exit_on_error=False)

    def _read(self, wanted: tuple[tuple[str, str, int], ...]) -> None:
        worker = get_current_worker()
        found = tuple((short, last_lines(path, size)) for short, path, size in wanted)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._take, wanted, found)

    def _take(self, wanted: tuple[tuple[str, str, int], ...], lines: Lines) -> None:
        if wanted == self._wanted:
            self._lines = lines
            self.redraw()

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """The newest at the bottom of each part."""
        found = [(short, lines) for short, lines in self._lines if lines]
        if not found:
            return [[(self._absent if self._wanted == () else "reading…", "label")]]
        parts = [_laid_out(short, lines[-high:], wide, glyphs.cut) for short, lines in found]
        shares = _shares([len(part) for part in parts], high)
        kept = [part[-share:] if share else [] for part, share in zip(parts, shares, strict=True)]
        for (short, _), part in zip(found, kept, strict=True):
            part[:1] = [[(f"{short} ", "label"), *row[1:]] for row in part[:1]]  # it may be the rest of a long line
        return [row for part in kept for row in part]


def _laid_out(short: str, lines: tuple[str, ...], wide: int, end: str) -> list[list[Run]]:
    """A long line takes several rows: its end is often what tells."""
    room = wide - len(short) - 1
    found: list[list[Run]] = []
    for line in lines:
        for at, piece in enumerate(cells.chopped(cells.cut(line, _ROWS * room, end), room)):
            found.append([(f"{short} " if not at else " " * (len(short) + 1), "label"), (piece, "title")])
    return found


def last_lines(path: str, size: int) -> tuple[str, ...]:
    """The last lines before byte `size`; of a line that was written over (a progress bar) what stood there last."""
    begin = max(0, size - _TAIL_BYTES)
    try:
        with open(path, "rb") as file:
            file.seek(begin)
            data = file.read(size - begin)
    except OSError as error:
        return (f"{path}: {error.strerror}",)
    lines = data.split(b"\n")
    if begin:
        del lines[0]  # its beginning was not read
    texts = [line.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace").expandtabs() for line in lines]
    return tuple(_without_old_bars([text for text in texts if text.strip()]))[-_LINES:]


def _without_old_bars(texts: list[str]) -> Iterator[str]:
    """Of the states of one progress bar only the last: they would push away what else was said."""
    bars = [found.group(1) if (found := _BAR.match(text)) else None for text in texts]
    for at, text in enumerate(texts):
        if bars[at] is None or at + 1 == len(texts) or bars[at + 1] != bars[at]:
            yield text


def _shares(counts: list[int], high: int) -> list[int]:
    """Rows for each part: alike, and what one does not need is the others'."""
    shares, left = [0] * len(counts), high
    for number, at in enumerate(sorted(range(len(counts)), key=lambda at: counts[at])):
        shares[at] = min(counts[at], left // (len(counts) - number))
        left -= shares[at]
    return shares


def _why_none(member: Mapping[str, Any]) -> str:
    if not member["owned"] and member["rank"] is None:
        return "it prints into its launcher's log"
    return "nothing was printed" if member["state"] not in ("starting", "running") else "nothing printed yet"
