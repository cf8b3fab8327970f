"""Columns as dots: one integer a dot column, bit 0 the lowest dot, so that a vertical run is two shifts."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.columns import Columns
    from grpotui.tui.scale import Scale

_GAP, _GAP_DOTS = 8, 6
"""A hole this many times as wide as points are apart, and at least so many dots wide, is not bridged by the line."""


def envelope(columns: Columns, scale: Scale, *, joined: bool = False) -> list[int]:
    """Everything between the lowest and the highest point of each column; joined to one line where points are few."""
    level, log = scale.level, scale.log
    dots = [
        (2 << level(high)) - (1 << level(low)) if high >= low and (high > 0 or not log) else 0
        for low, high in zip(columns.low, columns.high, strict=True)
    ]
    if not joined or 2 * sum(map(bool, dots)) > len(dots):
        return dots
    return [a | b for a, b in zip(dots, _line(columns, columns.high, scale), strict=True)]


def trace(columns: Columns, scale: Scale, *, held: bool = False) -> list[int]:
    """The line through the means; it ends at what is not finite, where training began again, and at wide holes.

    `held`: level until the next point, however far that is, and there upright.
    """
    return _line(columns, columns.mean, scale, held=held)


def _line(columns: Columns, values: Sequence[float], scale: Scale, *, held: bool = False) -> list[int]:
    dots = [0] * columns.grid.columns
    last, bridged = -1, len(dots) if held else _bridged(columns)
    for c, value in enumerate(values):
        if not isfinite(value) or (scale.log and value <= 0):
            last = -1 if columns.lost[c] or columns.stretch[c] >= 0 else last
            continue
        here = scale.level(value)
        if last < 0 or columns.stretch[last] != columns.stretch[c] or c - last > bridged:
            dots[c] = 1 << here
        else:
            before = scale.level(values[last])
            if held:
                dots[last + 1 : c] = [1 << before] * (c - last - 1)
            _join(dots, c - 1 if held else last, before, c, here)
        last = c
    return dots


def band(low: Columns, high: Columns, scale: Scale) -> list[int]:
    """Everything between two lines, straight between their points; nothing where either of them has a hole."""
    pairs = zip(_edge(low, low.low, scale), _edge(high, high.high, scale), strict=True)
    return [(2 << max(a, b)) - (1 << min(a, b)) if a >= 0 and b >= 0 else 0 for a, b in pairs]


def _edge(columns: Columns, values: Sequence[float], scale: Scale) -> list[int]:
    """The level of one end of a band in every column, -1 where there is none."""
    levels = [-1] * columns.grid.columns
    last, bridged = -1, _bridged(columns)
    for c, stretch in enumerate(columns.stretch):
        if stretch < 0:
            continue
        here = levels[c] = scale.level(values[c])
        if last >= 0 and columns.stretch[last] == stretch and c - last <= bridged:
            rise = (here - levels[last]) / (c - last)
            for between in range(last + 1, c):
                levels[between] = round(levels[last] + rise * (between - last))
        last = c
    return levels


def _bridged(columns: Columns) -> float:
    filled = [c for c, stretch in enumerate(columns.stretch) if stretch >= 0]
    return max(_GAP_DOTS, _GAP * (filled[-1] - filled[0]) / max(1, len(filled) - 1)) if filled else 0


def _join(dots: list[int], start: int, before: int, stop: int, after: int) -> None:
    """Dots from (start, before), which is drawn, to (stop, after): each column goes on where the last one ended."""
    level, wide = before, stop - start
    for c in range(start + 1, stop + 1):
        nxt = before + round((after - before) * (c - start) / wide)
        if nxt > level:
            dots[c] = (2 << nxt) - (2 << level)
        elif nxt < level:
            dots[c] = (1 << level) - (1 << nxt)
        else:
            dots[c] = 1 << nxt
        level = nxt
