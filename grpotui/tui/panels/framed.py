"""Rows of text in a frame with a title; without the frame where there is no room for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui.tui import border, cells
from grpotui.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.glyphs import Glyphs

LEAST_FRAMED = 3
"""Rows from which on there is a frame."""


class Framed(Drawn):
    """A panel that is text. What it shows is set by its `show`; `rows` makes rows of it for the room that there is."""

    DEFAULT_CSS = "Framed { width: 1fr; height: 1fr; }"
    title = ""

    def __init__(self) -> None:
        super().__init__(classes="framed")

    def head(self, wide: int) -> list[Run]:  # noqa: ARG002  (for those that have much to say)
        """What stands at the right of the title, in at most so many cells."""
        return []

    def foot(self, wide: int) -> Run | None:  # noqa: ARG002  (for those that have much to say)
        """What stands in the lower edge, in at most so many cells."""
        return None

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """At most `high` rows of at most `wide` cells; without a frame they tell themselves what they are."""
        raise NotImplementedError

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """The frame, and the rows in it."""
        glyphs, wide, high = sheet
        if high < LEAST_FRAMED or self.has_class("-bare"):
            return _filled(self.rows(glyphs, wide, high), wide, high)
        side: Run = (glyphs.frame[5], "frame")
        inner = _filled(self.rows(glyphs, wide - 4, high - 2), wide - 4, high - 2)
        body = [[side, (" ", "blank"), *row, (" ", "blank"), side] for row in inner]
        head = self.head(wide - cells.width(self.title) - 8)
        lower, said = border.Foot(glyphs, wide), self.foot(wide - 6)
        if said is not None:
            lower.place(1, f" {said[0]} ", said[1])
        return [border.top(glyphs, self.title, head, wide), *body, lower.runs()]


def _filled(rows: list[list[Run]], wide: int, high: int) -> list[list[Run]]:
    found = [cells.padded(row, wide) for row in rows[:high]]
    return found + [[(" " * wide, "blank")] for _ in range(high - len(found))]


def fitted(line: list[Run], wide: int) -> list[Run]:
    """Cut at its end, with a sign that it was."""
    used = 0
    for number, (text, role) in enumerate(line):
        room = wide - used
        rest = any(text.strip() for text, _ in line[number + 1 :])
        if cells.width(text) > room or (rest and cells.width(text) == room):
            return [*line[:number], (cells.cut(f"{text}…" if rest else text, room), role)]
        used += cells.width(text)
    return line
