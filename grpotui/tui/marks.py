"""Which marks are seen: of thousands of one kind, one a cell."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grpotui.tui.chart_parts import Mark, MarkKind
    from grpotui.tui.columns import Grid

    Placed = dict[MarkKind, list[tuple[int, Mark]]]
    """By kind, cell column and mark."""

_RANKS: Final = {"info": 0, "warning": 1, "critical": 2}


def placed(marks: Iterable[Mark], grid: Grid, across: int) -> Placed:
    """By kind, (cell column, mark) of those in sight; of several in a cell the most severe, of equals the last.

    Those on the axis and those in the picture are not in each other's way.
    """
    origin, width, end = grid.origin, grid.width, grid.columns
    found: dict[tuple[MarkKind, int, bool], Mark] = {}
    for mark in marks:
        if not isfinite(mark.x):
            continue
        column = (mark.x - origin) / width
        if not -1 <= column <= end + 1 or not grid.shows(mark.x):
            continue
        key = (mark.kind, grid.column(mark.x) // across, mark.y is None)
        other = found.get(key)
        if other is None or _RANKS.get(mark.severity, 0) >= _RANKS.get(other.severity, 0):
            found[key] = mark
    out: Placed = {}
    for (kind, cell, _), mark in found.items():
        out.setdefault(kind, []).append((cell, mark))
    return out
