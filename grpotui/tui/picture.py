"""The rows of one chart, once it is known where everything in it is."""

from __future__ import annotations

from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING

from grpotui.text import number
from grpotui.tui import border, cells, foot, raster, readout
from grpotui.tui.palette import LINES
from grpotui.tui.scale import row_of, ticks

if TYPE_CHECKING:
    from grpotui.tui.canvas import Canvas, Painter
    from grpotui.tui.cells import Run
    from grpotui.tui.layout import Layout

_BETWEEN = 18
"""Cells between two glyphs of one line's name along it, where lines are several."""


class Picture:
    """Draws one layout."""

    def __init__(self, layout: Layout, wide: int) -> None:
        self._layout, self._wide = layout, wide
        self._glyphs, self._scale = layout.look.glyphs, layout.scale

    def rows(self, painter: Painter, rows: int, legend: int) -> list[list[Run]]:
        """Frame, `legend` rows of names, and so many rows of dots."""
        columns, scale = self._layout.columns, self._scale
        smooth, held = self._layout.look.smoothing > 0, self._layout.look.held
        layers = [
            (raster.envelope(shown, scale, joined=smooth), raster.trace(shown, scale, held=held)) for shown in columns
        ]
        canvas = painter.paint(self._glyphs, rows, layers)
        self._fill(canvas)
        top = self._top(named=legend > 0)
        self._write_note(canvas, top)
        side = (self._glyphs.frame[5], "frame")
        finite = any(shown.extent() for shown in columns)
        names = ticks(scale, rows, self._layout.gutter - 1) if finite else {}
        if not finite:
            canvas.say(self._nothing(), "label")
        gutter = self._layout.gutter
        body = [
            cells.merged([side, (f"{names.get(at, ''):>{gutter - 1}} ", "label"), *row, side])
            for at, row in enumerate(canvas.rows)
        ]
        key = [[side, *row, side] for row in self._legend(legend)]
        return [top, *key, *body, foot.foot(self._layout, self._wide, named=legend > 0)]

    def _nothing(self) -> str:
        lost = any(any(shown.lost) for shown in self._layout.columns)
        return "no finite value" if lost else "no point here"

    def _fill(self, canvas: Canvas) -> None:
        """Everything that is not a line."""
        if self._layout.band is not None:
            canvas.shade(self._glyphs, raster.band(*self._layout.band, self._scale))
        self._name_lines(canvas)
        self._limits(canvas)
        self._points(canvas)
        self._uprights(canvas)
        self._limit_names(canvas)
        self._band_name(canvas)

    def _name_lines(self, canvas: Canvas) -> None:
        """Where lines are several, their glyphs along them: colours alone do not tell them apart."""
        several, across = len(self._layout.lines) > 1, self._glyphs.across
        if several and self._glyphs.name == "ascii":
            self._letter(canvas)
        for nth in range(len(self._layout.lines) - 1, -1, -1):
            shown, rows = self._layout.columns[nth], len(canvas.rows)
            filled = [c for c, mean in enumerate(shown.mean) if isfinite(mean)]
            if not filled or (not several and filled[0] != filled[-1]):
                continue
            first = _BETWEEN * nth // len(self._layout.lines) + _BETWEEN // 3
            along = [c for _, group in groupby(filled, key=lambda c: c // across) for c in [next(group)]]
            chosen = [c for c in along if (c // across - first) % _BETWEEN == 0] if several else []
            for c in [*chosen, filled[-1]]:
                self._put(canvas, row_of(self._scale, shown.mean[c], rows), c // across, nth)

    def _put(self, canvas: Canvas, row: int, column: int, nth: int) -> None:
        canvas.put(row, column, self.name(nth), f"line{nth % LINES}")

    def _letter(self, canvas: Canvas) -> None:
        """In ASCII a line is made of its own character."""
        letters = {
            f"{kind}{nth % LINES}": self.name(nth)
            for nth in range(min(LINES, len(self._layout.lines)))
            for kind in ("line", "over")
        }
        for row, found in enumerate(canvas.rows):
            canvas.rows[row] = [(letters.get(role.rstrip("~"), text), role) for text, role in found]

    def name(self, nth: int) -> str:
        """The glyph of a line."""
        return self._glyphs.names[nth % len(self._glyphs.names)]

    def _limits(self, canvas: Canvas) -> None:
        for limit in self._layout.chart.thresholds:
            if self._scale.holds(limit.value):
                row = row_of(self._scale, limit.value, len(canvas.rows))
                canvas.level(row, self._glyphs.threshold, "threshold")

    def _limit_names(self, canvas: Canvas) -> None:
        """On their line where nothing else is; those out of range at the edge that they are beyond."""
        glyphs, scale, rows = self._glyphs, self._scale, len(canvas.rows)
        for limit in self._layout.chart.thresholds:
            text = f"{cells.cut(limit.name, canvas.wide // 2, glyphs.cut)} {number(limit.value)}"
            if scale.holds(limit.value):
                canvas.write(row_of(scale, limit.value, rows), text, "limit", over="threshold")
            elif limit.value > scale.high:
                canvas.write(0, f"{glyphs.beyond[0]} {text}", "limit")
            elif limit.value < scale.low:
                canvas.write(rows - 1, f"{glyphs.beyond[1]} {text}", "limit")

    def _band_name(self, canvas: Canvas) -> None:
        """Where there is room for it."""
        band = self._layout.chart.band
        if self._layout.band is not None and band is not None:
            text = cells.cut(band.name, canvas.wide // 2, self._glyphs.cut)
            _ = canvas.write(len(canvas.rows) - 1, text, "label") or canvas.write(0, text, "label")

    def _points(self, canvas: Canvas) -> None:
        """Marks with a value."""
        for at, mark in (one for kind in self._layout.marks.values() for one in kind):
            if mark.y is not None and self._scale.holds(mark.y):
                row = row_of(self._scale, mark.y, len(canvas.rows))
                canvas.put(row, at, getattr(self._glyphs, mark.kind), foot.role_of(mark))

    def _uprights(self, canvas: Canvas) -> None:
        look = self._layout.look
        places = [(at, "death") for at, _ in self._layout.marks.get("death", ())]
        pointers = ((self._layout.cell(look.cursor), "cursor"), (self._layout.cell(look.crosshair), "crosshair"))
        for at, role in (*places, *pointers):
            if at is not None:
                canvas.upright(at, self._glyphs.cursor, role, lit=role != "death")

    def _legend(self, rows: int) -> list[list[Run]]:
        if not rows:
            return []
        x, lines = self._layout.pointed, self._layout.lines
        values = [readout.last(line) or "-" if x is None else readout.value_at(line, x) for line in lines]
        names = [
            (line.name, (self.name(nth), f"line{nth % LINES}"), value)
            for nth, (line, value) in enumerate(zip(lines, values, strict=True))
        ]
        return border.legend(names, self._wide - 2, rows, self._glyphs.cut)

    def _last_values(self) -> list[Run]:
        """`● 0.61 ■ 0.58`, of as many lines as there is room for."""
        out: list[Run] = []
        for nth, line in enumerate(self._layout.lines):
            value = readout.last(line)
            more: list[Run] = [(f"{' ' if out else ''}{self.name(nth)} ", f"line{nth % LINES}"), (value, "value")]
            if not border.fits(self._layout.chart.title, [*out, *more], self._wide):
                break
            out += more
        return out

    def _top(self, *, named: bool) -> list[Run]:
        chart, glyphs, shown = self._layout.chart, self._glyphs, self._layout.columns[0]
        arrow = glyphs.trends[readout.trend(shown, self._scale) + 1]
        right: list[Run] = [(f"{readout.last(self._layout.lines[0])} {arrow}", "value")]
        if (
            len(self._layout.lines) > 1
        ):  # whose value it would be, the names tell; or the glyphs, where they have no room
            right = [] if named else self._last_values()
        lost = sum(sum(columns.lost) for columns in self._layout.columns)
        more: list[Run] = [(f" {glyphs.lost}{lost}", "critical")] if lost else []
        for piece in (self._note(), more):  # a note is written below the frame else, and what is lost is on the axis
            right += piece if border.fits(chart.title, right + piece, self._wide) else []
        return border.top(glyphs, chart.title, right, self._wide)

    def _note(self) -> list[Run]:
        note = cells.cut(self._layout.chart.note, self._wide // 2, self._glyphs.cut)
        return [(f" {note}", "label")] if note else []

    def _write_note(self, canvas: Canvas, top: list[Run]) -> None:
        """The note where it has no place in the frame."""
        for text, role in self._note():
            if (text, role) not in top:
                _ = canvas.write(0, text.strip(), role) or canvas.write(len(canvas.rows) - 1, text.strip(), role)
