"""Labelled lines, wrapped below each other, of which as many are seen as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grpotui.tui import cells
from grpotui.tui.panels.framed import Framed
from grpotui.tui.panels.table import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.glyphs import Glyphs

Fact = tuple[str, str, str]
"""Label, text, role of the text; an empty label goes on with the one above, and a role `title+` heads what follows."""

_MOST: Final = 20
"""Cells of a label."""


class Facts(Framed):
    """What is said of one thing. It can be scrolled: `scroll`."""

    def __init__(self, title: str, *, id: str | None = None) -> None:  # noqa: A002  (Textual's word)
        super().__init__()
        if id is not None:
            self.id = id
        self.title = title
        self._facts: tuple[Fact, ...] = ()
        self._note: list[Run] = []
        self._top = self._room = 0
        self._count = 0
        self._made: tuple[int, list[list[Run]]] | None = None

    def show(self, facts: Sequence[Fact], *, title: str | None = None, note: Sequence[Run] = ()) -> None:
        """All of it; `note` stands at the right of the title."""
        seen = (tuple(facts), self.title if title is None else title, list(note))
        if seen != (self._facts, self.title, self._note):
            if title is not None and title != self.title:
                self._top = 0
            self._facts, self.title, self._note = seen
            self._made = None
            self.redraw()

    def scroll(self, way: int) -> None:
        """By so many lines."""
        self._top += way
        self.redraw()

    def page(self, way: int) -> None:
        """By what is seen at once."""
        self.scroll(way * max(1, self._room - 1))

    def wanted(self, wide: int) -> int:
        """Rows that all of it would fill in so many cells, the frame among them."""
        return len(self._lines(wide - 4)) + 2

    def head(self, wide: int) -> list[Run]:
        """The note, and which lines are seen where that is not all of them."""
        if self._count <= self._room:
            return self._note if cells.length(self._note) <= wide else []
        seen = f"{self._top + 1}-{min(self._count, self._top + self._room)} of {self._count} lines"
        return [*self._note, *([("  ", "blank")] if self._note else []), (seen, "label")]

    def picture(self, sheet: cells.Sheet) -> list[list[Run]]:
        """The room is known before the title tells what is seen."""
        self._room = max(1, sheet.high - (0 if self.has_class("-bare") else 2))
        self._count = len(self._lines(sheet.wide - 4))
        self._top = max(0, min(self._top, self._count - self._room))
        return super().picture(sheet)

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:  # noqa: ARG002  (of any set)
        """Those that are seen."""
        return self._lines(wide)[self._top : self._top + high]

    def _lines(self, wide: int) -> list[list[Run]]:
        """All of them, wrapped anew only where the facts or the room are others."""
        if self._made is None or self._made[0] != wide:
            self._made = (wide, self._wrapped(wide))
        return self._made[1]

    def _wrapped(self, wide: int) -> list[list[Run]]:
        room = min(_MOST, max((cells.width(label) for label, _, _ in self._facts), default=0))
        found: list[list[Run]] = []
        for label, text, role in self._facts:
            if role == "title+":
                found.append([(cells.cut(text, wide), "value")])
                continue
            name, before = cells.cut(label, room), room + 2 if room else 0
            for at, line in enumerate(wrapped(text, max(8, wide - before))):
                head = name if at == 0 else ""
                found.append([(head + " " * (before - cells.width(head)), "label"), (line, role)])
        return found

    def on_mouse_scroll_down(self) -> None:
        """Three lines on."""
        self.scroll(3)

    def on_mouse_scroll_up(self) -> None:
        """Three lines back."""
        self.scroll(-3)
