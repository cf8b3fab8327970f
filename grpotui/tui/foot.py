"""The lower frame of a chart: its axis and what happened when; or what is where the crosshair is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui.text import number
from grpotui.tui import border, cells, readout
from grpotui.tui.palette import LINES
from grpotui.tui.scale import x_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui.tui.cells import Run
    from grpotui.tui.chart_parts import Mark, MarkKind
    from grpotui.tui.layout import Layout

_URGENT: tuple[MarkKind, ...] = ("death", "finding", "restart")
"""Marks that are worth more than a label of the axis."""
_OTHERS: tuple[MarkKind, ...] = ("checkpoint", "validation")


def role_of(mark: Mark) -> str:
    """A finding has the look of its severity."""
    return mark.severity if mark.kind == "finding" else mark.kind


def foot(layout: Layout, wide: int, *, named: bool) -> list[Run]:
    """The line below a chart; `named` where the values of several lines are told elsewhere."""
    line = border.Foot(layout.look.glyphs, wide)
    if layout.pointed is not None:
        _tell(line, layout, layout.pointed, wide, named=named)
        return line.runs()
    _marks(line, layout, _URGENT[:1])
    _lost(line, layout)
    _marks(line, layout, _URGENT[1:])
    line.word(layout.look.axis)
    _labels(line, layout, wide)
    _marks(line, layout, _OTHERS)
    return line.runs()


def _marks(line: border.Foot, layout: Layout, kinds: tuple[MarkKind, ...]) -> None:
    """Those without a place in the picture, and the urgent ones in any case."""
    for kind in kinds:
        for at, mark in layout.marks.get(kind, ()):
            if mark.y is None or kind in _URGENT:
                line.place(layout.gutter + at, getattr(layout.look.glyphs, kind), role_of(mark))


def _lost(line: border.Foot, layout: Layout) -> None:
    """Points that are not finite, with their number where there is room; on a logarithmic scale those below it."""
    glyphs, gutter = layout.look.glyphs, layout.gutter
    for begin in range(0, layout.grid.columns, glyphs.across):
        group = range(begin, begin + glyphs.across)
        lost = sum(shown.lost[c] for shown in layout.columns for c in group)
        text = f"{glyphs.lost}{lost}" if lost > 1 else glyphs.lost
        at = gutter + begin // glyphs.across
        if lost and not line.place(at, text, "critical"):
            line.place(at, glyphs.lost, "critical")
        elif layout.scale.log and any(shown.low[c] <= 0 for shown in layout.columns for c in group):
            line.place(at, glyphs.below, "label")


def _labels(line: border.Foot, layout: Layout, wide: int) -> None:
    low, high = layout.reach
    for x, name in x_ticks(low, high, layout.look.axis, max(2, (wide - 2 - layout.gutter) // 9)):
        at = layout.cell(x)
        if at is not None:
            line.label(layout.gutter + at, name)


def _tell(line: border.Foot, layout: Layout, x: float, wide: int, *, named: bool) -> None:
    """As much as there is room for; where it is, and the value, always."""
    at, room = 0, wide - 4
    for text, role in _told(layout, x, named=named):
        if at + cells.width(text) + 1 > room and at:
            break
        fitting = cells.cut(text, room, layout.look.glyphs.cut)
        line.place(at, fitting, role)
        at += cells.width(fitting)
    line.place(at, " ", "readout")


def _told(layout: Layout, x: float, *, named: bool) -> Iterator[Run]:
    """Place, values, what is smoothed, what shares the column, the band, and what happened there; `named` as above."""
    look, lines, several = layout.look, layout.lines, len(layout.lines) > 1
    where = f" {readout.place(look.axis, x)}"
    if several:
        yield where, "readout"
        for nth, line in enumerate(() if named else lines):
            yield f"  {look.glyphs.names[nth % len(look.glyphs.names)]}", f"line{nth % LINES}"
            yield f" {readout.value_at(line, x)}", "readout"
    else:
        yield f"{where}  {readout.value_at(lines[0], x)}", "readout"
        for more in (
            readout.smoothed_at(lines[0], x, look.smoothing),
            readout.column_at(lines[0], layout.columns[0], layout.grid.column(x)),
            _band(layout, x),
        ):
            yield f"  {more}" if more else "", "label"
    for mark in layout.chart.marks:
        if mark.name and layout.cell(mark.x) == layout.cell(x):
            yield f"  {getattr(look.glyphs, mark.kind)} {cells.cut(mark.name, 60, look.glyphs.cut)}", role_of(mark)


def _band(layout: Layout, x: float) -> str:
    band = layout.chart.band
    if band is None:
        return ""
    ends = [(line, readout.at(line, x)) for line in (band.low, band.high)]
    values = [number(line.series.y[index]) for line, index in ends if index is not None]
    return f"{band.name}: {values[0]} to {values[1]}" if len(values) == 2 else ""
