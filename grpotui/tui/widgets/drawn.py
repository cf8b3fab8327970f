"""A widget whose picture is rows of text with roles, made by a pure function of its size."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from grpotui.tui import glyphs, palette
from grpotui.tui.cells import Sheet

if TYPE_CHECKING:
    from rich.style import Style

    from grpotui.tui.cells import Run


class Drawn(Widget):
    """Draws what `picture` returns, repaints the rows that changed, follows the theme and NO_COLOR.

    `glyph_set` is the name of a set of characters, first that of `glyphs.chosen`: braille, block, console or ascii.
    """

    glyph_set: reactive[str] = reactive(lambda: glyphs.chosen(os.environ), repaint=False)

    def __init__(self, *, colour: int = 0, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._colour = colour
        self._rows: list[list[Run]] = []
        self._strips: list[Strip] = []
        self._styles: dict[str, Style] | None = None
        self._stale = True

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """`sheet.high` rows of `sheet.wide` cells."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Something that is shown has changed: the rows that differ are painted again."""
        if not self.is_attached or not self.size:
            self._stale = True
            return
        wide, high = self.size
        old, had = self._rows, self._strips
        self._draw(wide, high)
        if self._stale or len(old) != high or not had or had[0].cell_length != wide:
            self.refresh()
        else:
            changed = [row for row in range(high) if old[row] != self._rows[row]]
            if changed:
                self.refresh(*(Region(0, row, wide, 1) for row in changed))
        self._stale = False

    def _draw(self, wide: int, high: int) -> None:
        """Rows that are as they were keep their strips."""
        old, had = self._rows, self._strips
        keep = len(old) == high and bool(had) and had[0].cell_length == wide and self._styles is not None
        styles = self._styles or self._look()
        chosen = glyphs.SETS[self.glyph_set]
        chosen = glyphs.uncoloured(chosen) if self.app.no_color else chosen
        self._styles, self._rows = styles, self.picture(Sheet(chosen, wide, high))
        self._strips = [
            had[number] if keep and old[number] == row else _strip(row, styles, wide)
            for number, row in enumerate(self._rows)
        ]

    def _look(self) -> dict[str, Style]:
        app = self.app
        chosen = palette.palette(dark=app.current_theme.dark, mono=app.no_color)
        ground = self.background_colors[1]
        known = ground.ansi is None and ground.a == 1
        return palette.styles(chosen, self._colour, ground.hex6.lower() if known else None)

    def watch_glyph_set(self) -> None:
        """Another set of characters was chosen."""
        self.redraw()

    def notify_style_update(self) -> None:
        """The theme or a rule of the style sheet has changed: so have the colours."""
        self._styles, self._stale = None, True
        super().notify_style_update()

    def on_resize(self) -> None:
        """The room has changed."""
        self._stale = True
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row, of a picture made for the present size."""
        wide, high = self.size
        if self._stale or self._styles is None or len(self._strips) != high:
            self._draw(wide, high)
            self._stale = False
        return self._strips[y] if y < len(self._strips) else Strip.blank(wide)


def _strip(row: list[Run], styles: dict[str, Style], wide: int) -> Strip:
    return Strip([Segment(text, styles[role]) for text, role in row], wide)
