"""Charts drawn for a test, and values that are hard to draw."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from grpotui.text import inert
from grpotui.tui import cells
from grpotui.tui.chart_parts import Chart, Line, Look
from grpotui.tui.glyphs import SETS
from grpotui.tui.plot import Plotter
from grpotui.tui.series import Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grpotui.tui.cells import Run

HARD_NAMES = (
    "",
    "reward/mean",
    "奖励/均值 😀",
    "\x1b[31mred\x07",
    "a\u202eb[/]",
    "[bold]x",
    "e\u0301\u200d\n",
    "x" * 300,
)
numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-10, 10),
    st.sampled_from((0.0, -0.0, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, 1.0, 0.3)),
)
names = st.one_of(st.sampled_from(HARD_NAMES), st.text(max_size=12))
glyph_sets = st.sampled_from(tuple(SETS)).map(SETS.__getitem__)


def series(points: Iterable[tuple[float, float]]) -> Series:
    """Points, as the columns that a feed has."""
    found = list(points)
    return Series(array("d", [x for x, _ in found]), array("d", [y for _, y in found]))


def line(values: Sequence[float], name: str = "", start: int = 1) -> Line:
    """Values at steps that follow each other."""
    return Line(name, series(enumerate(values, start)), len(values))


def draw(chart: Chart, wide: int = 60, high: int = 12, look: Look = Look()) -> list[str]:  # noqa: B008  (frozen)
    """Its rows as text."""
    return [cells.plain(row) for row in Plotter().draw(chart, look, wide, high)]


def roles(rows: Iterable[Iterable[Run]]) -> set[str]:
    """The roles in a picture."""
    return {role for row in rows for _, role in row}


def fits(rows: Sequence[Sequence[Run]], wide: int, high: int) -> bool:
    """Whether a picture is as large as it was asked to be, and nothing in it would be obeyed by a terminal."""
    return len(rows) == max(0, high) and all(
        cells.length(row) == wide and all(inert(text) == text for text, _ in row) for row in rows
    )


def naive_smoothed(values: Iterable[float], factor: float) -> list[float]:
    """The debiased exponential average by its definition: a weighted mean over all finite values until there."""
    seen: list[float] = []
    out: list[float] = []
    for value in values:
        if not math.isfinite(value):
            out.append(math.nan)
            continue
        seen.append(value)
        weights = [(1 - factor) * factor**age for age in range(len(seen) - 1, -1, -1)]
        out.append(sum(w * v for w, v in zip(weights, seen, strict=True)) / sum(weights))
    return out
