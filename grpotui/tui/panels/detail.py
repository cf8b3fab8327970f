"""What is known of a zoomed chart's metrics in numbers, the related ones among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from grpotui.text import number
from grpotui.tui import cells
from grpotui.tui.panels.framed import Framed
from grpotui.tui.panels.points import RECENT, Points, Statistics, recent_mean
from grpotui.tui.panels.specs import fitting
from grpotui.tui.readout import place
from grpotui_supervisor.logs.catalog import describe, unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.chart_parts import Axis
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.glyphs import Glyphs
    from grpotui.tui.panels.curve import CurveChart

_MOST = 24
"""Metrics of which numbers are told."""
_AT_ONCE = 2
"""Metrics that are looked at for the first time: each costs a copy of all of its points."""
_MORE_S = 0.05
_NAME = 34
_HEAD = ("metric", "last", "lowest", "highest", f"mean of last {RECENT}", "points", "not finite")


class Detail(Framed):
    """Its meaning, then a row a metric."""

    title = "in numbers"

    class Grown(Message):
        """It has more to say than it had room for."""

    def __init__(self) -> None:
        super().__init__()
        self._points: dict[str, Points] = {}
        self._numbers: dict[str, Statistics] = {}
        self._said: list[list[Run]] = []
        self._table: list[tuple[str, ...]] = []
        self._about = ""

    def show(self, feed: Feed, frame: Frame, chart: CurveChart, names: Sequence[str]) -> None:
        """The chart as it was last updated."""
        known = {one.metric: one for one in (chart.points, *chart.parts) if len(one.x)}
        related = fitting(chart.spec.related, names, known)[: _MOST - len(known)]
        later = [name for name in related if name not in self._points][_AT_ONCE:]
        for name in related:
            if name not in later:
                points = known[name] = self._points.get(name) or Points(name)
                points.update(feed, chart.axis)
        if later:
            self.set_timer(_MORE_S, lambda: self._more(feed, frame, chart, names))
        self._points = known
        self._numbers = {name: self._numbers.get(name) or Statistics() for name in known}
        for name, points in known.items():
            self._numbers[name].update(points)
        said = _meaning(feed, frame, chart.metric)
        rows = [_row(points, self._numbers[name], chart.axis) for name, points in known.items()]
        if (said, rows, chart.metric) != (self._said, self._table, self._about):
            self._said, self._table, self._about = said, rows, chart.metric
            self.redraw()

    def _more(self, feed: Feed, frame: Frame, chart: CurveChart, names: Sequence[str]) -> None:
        if chart.has_class("-zoomed"):
            self.show(feed, frame, chart, names)
            self.post_message(self.Grown())

    def wanted(self) -> int:
        """Rows that it would fill."""
        return len(self._said) + (len(self._table) + 1 if self._table else 0)

    def head(self, wide: int) -> list[Run]:  # noqa: ARG002  (it is short)
        """Which chart it is about: it has no other title."""
        return [(self._about, "value")]

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:  # noqa: ARG002  (of any set)
        """Meaning, then numbers; columns from the right go first where there is no room."""
        said = [[(cells.cut(text, wide), role) for text, role in line] for line in self._said]
        if not self._table:
            return said
        count = next((n for n in range(len(_HEAD), 2, -1) if sum(self._widths(n)) + 2 * (n - 1) <= wide), 2)
        widths = self._widths(count)
        table = [[(_line(_HEAD[:count], widths), "label")]]
        for at, row in enumerate(self._table):
            table.append([(_line(row[:count], widths), "value" if at == 0 else "title")])
        return [*said, *table]

    def _widths(self, count: int) -> list[int]:
        return [max(cells.width(row[at]) for row in (_HEAD, *self._table)) for at in range(count)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell}{' ' * (wide - cells.width(cell))}" for cell, wide in zip(row, widths, strict=True))


def _row(points: Points, found: Statistics, axis: Axis) -> tuple[str, ...]:
    name = cells.cut(points.metric, _NAME)
    last = number(points.y[-1]) if len(points.y) else "-"
    if not found.known:
        return name, last, "-", "-", "-", str(len(points.y)), str(found.lost or "-")
    mean = recent_mean(points)
    return (
        name,
        last,
        *(f"{number(value)} at {place(axis, x)}" for value, x in (found.low, found.high)),
        "-" if mean is None else number(mean),
        str(len(points.y)),
        str(found.lost or "-"),
    )


def _meaning(feed: Feed, frame: Frame, metric: str) -> list[list[Run]]:
    """What the catalogue says of it, its name in the log, and why it is not to be believed."""
    about, raw, doubt = describe(metric), feed.raw_name(metric), feed.doubts().get(metric)
    of = unit(metric, frame.document["framework"])
    words = ([f"{about.meaning}" + (f", in {of}" if of else "")] if about is not None else []) + (
        [f"in the log: {raw}"] if raw is not None else []
    )
    lines: list[list[Run]] = [[(" · ".join(words), "label")]] if words else []
    return [*lines, *([[(f"▲ unreliable: {doubt}", "warning")]] if doubt else [])]
