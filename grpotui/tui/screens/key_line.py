"""The last line of a screen without pages: its keys, made from its bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.content import Content
from textual.widgets import Static

from grpotui.tui.screens.dialogs import key_of
from grpotui.tui.screens.keys import MOST, part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.binding import BindingType


class KeyLine(Static):
    """Those with `show=True`, and below that width the first of them."""

    DEFAULT_CSS = "KeyLine { height: 1; background: $panel; link-style: none; }"

    def __init__(self, bindings: Sequence[BindingType], last: tuple[str, str] = ("q", "quit")) -> None:
        """`last`: the word for leaving."""
        super().__init__()
        shown = [b for b in bindings if isinstance(b, Binding) and b.show][: MOST - 2]
        self._parts = [part(key_of(b), b.description, f"screen.{b.action}") for b in shown]
        self._last = [part("?", "help", "app.help"), part(last[0], last[1], "app.leave")]

    def on_resize(self, event: events.Resize) -> None:
        """What fits."""
        parts = list(self._parts)
        while parts and Content(" ").join([*parts, *self._last]).cell_length > event.size.width:
            parts.pop()
        left, right = Content(" ").join(parts), Content(" ").join(self._last)
        gap = max(1, event.size.width - left.cell_length - right.cell_length)
        self.update(Content.assemble(left, " " * gap, right))
