"""What every widget of an application draws, in characters that the terminal can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.filter import LineFilter

from grpotui.tui import likes

if TYPE_CHECKING:
    from textual.color import Color


class LikesFilter(LineFilter):
    """Replaces what the set of characters `name` does not have: frames, arrows and marks of any widget."""

    def __init__(self, name: str) -> None:
        super().__init__(enabled=name in likes.TABLES)
        self.name = name

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  (Textual's)
        """The same segments with other characters."""
        return [
            segment
            if segment.control or segment.text.isascii()
            else Segment(likes.shown(segment.text, self.name), segment.style)
            for segment in segments
        ]
