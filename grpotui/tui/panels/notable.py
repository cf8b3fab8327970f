"""What went wrong, the worst first, and what is known of the last checkpoint and its disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from grpotui.text import duration, size
from grpotui.tui import cells
from grpotui.tui.palette import severity
from grpotui.tui.panels.framed import Framed, fitted
from grpotui.tui.panels.went_wrong import counts, items_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.glyphs import Glyphs
    from grpotui.tui.panels.went_wrong import Item


_MOST: Final = 4
"""Things that went wrong, where there is room for more rows: the charts need it more, and page 7 has all."""


class Notable(Framed):
    """A line each."""

    title = "findings"

    def __init__(self) -> None:
        super().__init__()
        self._items: list[Item] = []
        self._none: list[Run] = [("reading…", "label")]
        self._saved: list[list[Run]] = []

    def show(self, feed: Feed, frame: Frame) -> None:
        """The newest frame."""
        items = [item for item in items_of(feed, frame) if item.cleared_s is None]
        none, saved = _none(frame), _saved(frame.document)
        if (items, none, saved) != (self._items, self._none, self._saved):
            self._items, self._none, self._saved = items, none, saved
            self.redraw()

    def head(self, wide: int) -> list[Run]:  # noqa: ARG002  (it is short)
        """How many there are."""
        return counts(self._items) or [("0", "label")]

    def wanted(self) -> int:
        """Rows that it would fill."""
        return min(max(1, len(self._items)), _MOST) + len(self._saved)

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:  # noqa: ARG002  (of any set)
        """As many as there is room for; the number of the others at the end of the last. The checkpoint stays."""
        room = max(1, min(high - len(self._saved), _MOST))
        shown = [fitted(_line(item), wide) for item in self._items[:room]] or [fitted(self._none, wide)]
        more = len(self._items) - room
        if more > 0:
            note = f" +{more}: page 7"
            shown[-1] = [*cells.padded(shown[-1], wide - len(note)), (note, "label")]
        return [*shown, *(fitted(line, wide) for line in self._saved)][:high]


def _none(frame: Frame) -> list[Run]:
    none = "none" if frame.kind != "log" else "none are looked for in a bare log yet"
    return [(f"findings: {none}", "label")]


def _line(item: Item) -> list[Run]:
    glyph, word, role = severity(item.severity)
    step = f" at step {item.step}" if item.step is not None else ""
    limit = f" (limit: {item.limit})" if item.limit else ""
    return [(f"{glyph} {word} ", role), (cells.cut(f"{item.name}{step}: {item.evidence}{limit}", 500), "title")]


def _saved(document: Mapping[str, Any]) -> list[list[Run]]:
    """The last checkpoint, and the disk that it lies on."""
    checkpoints, disk = document["checkpoints"], document.get("disk")
    parts: list[Run] = []
    if checkpoints:
        one, now = checkpoints[0], (document.get("as_of") or {}).get("offset_s")
        word, role = {
            True: ("complete", "good"),
            False: ("NOT complete", "critical"),
            None: ("not known to be complete", "label"),
        }[one["complete"]]
        began = one["began_offset_s"]
        age = "" if began is None or now is None else f", {duration(now - began)} ago"
        name = f"step {one['step']}" if one["step"] is not None else os.path.basename(one["path"])
        parts += [("◆ ", "checkpoint"), (f"checkpoint {cells.cut(name, 40)}: ", "label"), (word, role), (age, "label")]
    if disk is not None:
        gap = "  " if parts else ""
        parts += [(f"{gap}disk {size(disk['free_bytes'])} of {size(disk['total_bytes'])} free", "label")]
    return [parts] if parts else []
