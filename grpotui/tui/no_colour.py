"""What a terminal is sent under NO_COLOR: weight and reversal only; Textual's own answer is shades of grey."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUNDS = (0.07, 0.88)
"""The brightness of the themes' own grounds, dark and light."""
_APART = 0.18
"""How much another brightness marks a place by its ground alone, as the chosen answer is: panels differ by 0.11."""


class NoColour(LineFilter):
    """Takes the colours away; a place that was marked by its ground is reversed."""

    def apply(self, segments: Sequence[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  (Textual's)
        """One line."""
        return [Segment(text, None if style is None else plain(style), control) for text, style, control in segments]


@lru_cache(4096)
def plain(style: Style) -> Style:
    """The style without colours."""
    without = style.without_color
    if style.meta:
        without += Style.from_meta(style.meta)
    return without + _REVERSED if _is_marked(style) else without


_REVERSED = Style(reverse=True)


def _is_marked(style: Style) -> bool:
    if style.bgcolor is None or style.bgcolor.is_default:
        return False
    ground = Color.from_rich_color(style.bgcolor).brightness
    return min(abs(ground - theme) for theme in _GROUNDS) > _APART
