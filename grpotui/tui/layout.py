"""Where everything in a chart is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpotui.tui import readout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.chart_parts import Chart, Line, Look
    from grpotui.tui.columns import Columns, Grid
    from grpotui.tui.marks import Placed
    from grpotui.tui.scale import Scale


@dataclass(slots=True)
class Layout:
    """What the last picture was made of: enough to tell what is at a place in it."""

    chart: Chart
    look: Look
    lines: Sequence[Line]
    """Those of the chart, and with them the columns."""
    whole: tuple[float, float]
    """Smallest and largest x of all points."""
    grid: Grid
    scale: Scale
    gutter: int
    columns: Sequence[Columns]
    band: tuple[Columns, Columns] | None
    marks: Placed

    @property
    def reach(self) -> tuple[float, float]:
        """Of the x that are shown."""
        return self.look.window or self.whole

    def filled(self) -> list[int]:
        """Columns in which a line has a point, finite or not."""
        return [c for c in range(self.grid.columns) if any(one.stretch[c] >= 0 or one.lost[c] for one in self.columns)]

    def x_of(self, column: int) -> float:
        """The x of the last point in a column, or where the column begins."""
        for line in self.lines:
            points = readout.indexes(line, self.grid, column)
            if points:
                return line.series.x[points[-1]]
        return self.grid.border(column)

    def cell(self, x: float | None) -> int | None:
        """The cell column of an x that is shown."""
        if x is None or not self.grid.shows(x):
            return None
        return self.grid.column(x) // self.look.glyphs.across

    @property
    def pointed(self) -> float | None:
        """The x of the crosshair, if that is shown."""
        x = self.look.crosshair
        return x if x is not None and self.grid.shows(x) else None
