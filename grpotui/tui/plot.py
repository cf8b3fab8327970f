"""A chart as rows of text with roles: a function of what is shown, how, and the room that there is.

A `Plotter` keeps the columns between two pictures, so that a new point costs the last column and not the whole run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui.tui import border, cells, readout
from grpotui.tui.canvas import Painter
from grpotui.tui.cells import Sheet
from grpotui.tui.columns import Columns, Grid
from grpotui.tui.layout import Layout
from grpotui.tui.marks import placed
from grpotui.tui.picture import Picture
from grpotui.tui.scale import Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.chart_parts import Band, Chart, Line, Look
    from grpotui.tui.marks import Placed

_SMALL = 44
"""Charts narrower than this have labels of five cells, others of six."""
_LEAST = (12, 3)
"""Less than this holds a title and a value only."""
_FLATTER = 4
"""A band that would make the line flatter than this many times is cut off at the edges instead."""


class Plotter:
    """Draws one chart again and again."""

    def __init__(self) -> None:
        self._columns: list[Columns] = []
        self._band = (Columns(), Columns())
        self._painter = Painter()
        self._marks: tuple[object, Grid, int, Placed] | None = None
        self.layout: Layout | None = None

    def draw(self, chart: Chart, look: Look, wide: int, high: int) -> list[list[Run]]:
        """`high` rows of `wide` cells, the frame among them."""
        self.layout = None
        if wide < _LEAST[0] or high < _LEAST[1]:
            return _tiny(chart, wide, high)
        shown = chart.lines  # also those without a point: each run has the same colour in all charts
        reaches = [reach for line in shown if (reach := line.series.reach(line.count))]
        if not reaches:
            return border.empty(Sheet(look.glyphs, wide, high), chart.title, chart.empty, chart.note)
        gutter = 6 if wide < _SMALL else 7
        legend = border.legend_rows(len(shown), wide - 2, high - 2)
        rows = high - 2 - legend
        across = (wide - 2 - gutter) * look.glyphs.across
        whole = min(low for low, _ in reaches), max(high for _, high in reaches)
        grid = Grid.window(*look.window, across) if look.window else Grid.fitted(*whole, across)
        self._update(shown, grid, look.smoothing)
        band = self._banded(chart.band, grid)
        scale = _scale(self._columns, band, chart, look, rows * look.glyphs.up)
        self.layout = Layout(
            chart, look, shown, whole, grid, scale, gutter, self._columns, band, self._placed(chart, look, grid)
        )
        return Picture(self.layout, wide).rows(self._painter, rows, legend)

    def _update(self, lines: Sequence[Line], grid: Grid, smoothing: float) -> None:
        while len(self._columns) < len(lines):
            self._columns.append(Columns())
        del self._columns[len(lines) :]
        for columns, line in zip(self._columns, lines, strict=True):
            columns.update(line.series, line.count, grid, smoothing)

    def _placed(self, chart: Chart, look: Look, grid: Grid) -> Placed:
        kept, across = self._marks, look.glyphs.across
        if kept is None or kept[0] is not chart.marks or kept[1:3] != (grid, across):
            kept = self._marks = (chart.marks, grid, across, placed(chart.marks, grid, across))
        return kept[3]

    def _banded(self, band: Band | None, grid: Grid) -> tuple[Columns, Columns] | None:
        if band is None or not band.low.count or not band.high.count:
            return None
        for columns, line in zip(self._band, (band.low, band.high), strict=True):
            columns.update(line.series, line.count, grid)
        return self._band


def _scale(
    columns: Sequence[Columns], band: tuple[Columns, Columns] | None, chart: Chart, look: Look, dots: int
) -> Scale:
    """Every point, and those limits that do not make the points more than twice as flat."""
    extents = [extent for shown in columns if (extent := shown.extent())]
    if not extents:
        return Scale.around(0.0, 0.0, dots)
    low, high = min(low for low, _ in extents), max(high for _, high in extents)
    log = look.log and high > 0
    if log:
        low = _least_positive(columns)
    if band is not None:
        low, high = _with_band(low, high, band, log=log)
    reach = high / 2 - low / 2
    near = [t.value for t in chart.thresholds if low / 2 - reach <= t.value / 2 <= high / 2 + reach]
    near = [value for value in near if value > 0 or not log]
    return Scale.around(min([low, *near]), max([high, *near]), dots, log=log)


def _least_positive(columns: Iterable[Columns]) -> float:
    return min(low if low > 0 else high for c in columns for low, high in zip(c.low, c.high, strict=True) if high > 0)


def _with_band(low: float, high: float, band: tuple[Columns, Columns], *, log: bool) -> tuple[float, float]:
    """The ends of the band too; where that flattens the line, only as much of it as there is line."""
    ends = [extent for columns in band if (extent := columns.extent()) and (extent[0] > 0 or not log)]
    if not ends:
        return low, high
    lower, upper = min(low, *(low for low, _ in ends)), max(high, *(high for _, high in ends))
    reach = high / 2 - low / 2
    if log or reach == 0 or upper / 2 - lower / 2 <= _FLATTER * reach:
        return lower, upper
    return max(lower, low - reach), min(upper, high + reach)


def _tiny(chart: Chart, wide: int, high: int) -> list[list[Run]]:
    """Title and value, without a frame."""
    value = readout.last(chart.lines[0]) if chart.lines else ""
    room = max(0, wide - len(value) - 1)
    row = cells.padded([(cells.cut(chart.title, room), "title"), (" ", "blank"), (value, "value")], wide)
    return [row if number == 0 else [(" " * wide, "blank")] for number in range(high)]
