"""A page whose keys move through a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from grpotui.text import inert
from grpotui.tui.panels.page import Page

if TYPE_CHECKING:
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.panels.table import Table

MOVES: tuple[Binding, ...] = (
    Binding("down,j", "move(1)", "next line", key_display="↓ j", show=False),
    Binding("up,k", "move(-1)", "line before", key_display="↑ k", show=False),
    Binding("pagedown,ctrl+d", "leaf(1)", "page down", key_display="PgDn", show=False),
    Binding("pageup,ctrl+u", "leaf(-1)", "page up", key_display="PgUp", show=False),
    Binding("home,g", "end(-1)", "first line", key_display="Home g", show=False),
    Binding("end,G", "end(1)", "last line", key_display="End G", show=False),
)


class Listing(Page):
    """The page has the focus, and its table what the keys mean."""

    MOVES: ClassVar = MOVES
    DEFAULT_CSS = "Listing { layout: vertical; }"

    can_focus = True

    def __init__(self, feed: Feed, table: Table) -> None:
        super().__init__(feed)
        self.table = table

    def action_move(self, way: int) -> None:
        """Another line."""
        self.table.move(way)

    def action_leaf(self, way: int) -> None:
        """A screen of lines."""
        self.table.page(way)

    def action_end(self, side: int) -> None:
        """The first or the last line."""
        self.table.end(side)

    def copy(self, words: str) -> None:
        """Into the terminal's clipboard, and says so."""
        words = inert(words)
        self.app.copy_to_clipboard(words)
        self.notify(f"copied: {words}", markup=False, timeout=2)
