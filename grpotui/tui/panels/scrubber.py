"""The line of the cursor: where it is between beginning and end, and what happened where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui.text import duration
from grpotui.tui import cells
from grpotui.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from textual import events

    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame

_KINDS = {
    "death": ("✖", "critical"), "finding": ("▲", "warning"), "restart": ("↺", "warning"), "gap": ("┄", "label"),
    "checkpoint": ("◆", "checkpoint"), "validation": ("○", "validation"), "end": ("■", "label"),
}  # fmt: skip
"""Where two are at one place the upper one is shown."""


class Scrubber(Drawn):
    """One row; a click sets the cursor."""

    def __init__(self, feed: Feed, *, id: str) -> None:  # noqa: A002  (Textual's word)
        super().__init__(id=id)
        self._feed = feed
        self._frame: Frame | None = None
        self._bar = (0, 1)

    def show(self, frame: Frame) -> None:
        """The newest frame."""
        self._frame = frame
        self.redraw()

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """Place in words, then the line."""
        wide = sheet.wide
        span, frame = self._feed.span(), self._frame
        if span is None or frame is None or frame.moment is None:
            return [cells.padded([(" the cursor can be moved once all of it is read", "label")], wide)]
        words = f" {_place(frame, span)} "
        room = max(1, wide - cells.width(words) - 1)
        self._bar = (cells.width(words), room)
        row: list[Run] = [("─", "frame")] * room
        reach = max(1, span[1] - span[0])
        ranked = sorted(self._feed.marks(), key=lambda mark: -list(_KINDS).index(mark.kind))
        for mark in ranked:
            row[_cell(mark.at, span[0], reach, room)] = _KINDS[mark.kind]
        at = _cell(frame.moment, span[0], reach, room)
        row = [(text, "muted" if place > at and role == "frame" else role) for place, (text, role) in enumerate(row)]
        row[at] = (row[at][0] if row[at][1] != "frame" else "┃", "frame_focus")
        return [cells.padded([(words, "value"), *cells.merged(row)], wide)]

    def on_click(self, event: events.Click) -> None:
        """There."""
        span = self._feed.span()
        begin, room = self._bar
        if span is not None and event.x >= begin:
            share = min(1.0, (event.x - begin) / max(1, room - 1))
            self._feed.seek(span[0] + round((span[1] - span[0]) * share))


def _cell(at: int, first: int, reach: int, room: int) -> int:
    return min(room - 1, max(0, (at - first) * (room - 1) // reach))


def _place(frame: Frame, span: tuple[int, int]) -> str:
    if frame.kind == "log":
        return f"record {frame.moment} of {span[1]}"
    offset = ((frame.moment or 0) - span[0]) / 1e9
    return f"+{duration(offset)} of {duration((span[1] - span[0]) / 1e9)}"
