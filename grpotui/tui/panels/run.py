"""Page 8: what the run is made of: profile, command lines, environment, versions, supervisors, paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from grpotui.text import inert
from grpotui.tui import cells
from grpotui.tui.panels.facts import Facts
from grpotui.tui.panels.page import Page
from grpotui.tui.panels.run_text import command_of, text_of

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame


class RunPage(Page):
    """One text that scrolls."""

    BINDINGS: ClassVar = [
        Binding("c", "copy", "copy the command"),
        Binding("down,j", "scroll_by(1)", "line down", key_display="↓ j", show=False),
        Binding("up,k", "scroll_by(-1)", "line up", key_display="↑ k", show=False),
        Binding("pagedown,ctrl+d", "leaf(1)", "page down", key_display="PgDn", show=False),
        Binding("pageup,ctrl+u", "leaf(-1)", "page up", key_display="PgUp", show=False),
        Binding("home,g", "scroll_by(-100000)", "beginning", key_display="Home g", show=False),
        Binding("end,G", "scroll_by(100000)", "end", key_display="End G", show=False),
    ]

    can_focus = True

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed)
        self._text = Facts("run")

    def compose(self) -> ComposeResult:
        """All of it."""
        yield self._text

    def show(self, frame: Frame) -> None:
        """The newest frame."""
        self._text.show(text_of(self.feed, frame))

    def action_scroll_by(self, way: int) -> None:
        """By lines."""
        self._text.scroll(way)

    def action_leaf(self, way: int) -> None:
        """By what is seen."""
        self._text.page(way)

    def action_copy(self) -> None:
        """The command line of the first member, as a shell takes it."""
        words = command_of(self.feed.facts())
        if words is None:
            self.notify("Its command line is not on record.", markup=False, timeout=3)
            return
        self.app.copy_to_clipboard(inert(words))
        self.notify(f"copied: {cells.cut(words, 200)}", markup=False, timeout=3)
