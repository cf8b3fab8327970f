"""One metric of several runs in one chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui.text import number
from grpotui.tui.chart_parts import Chart, Line
from grpotui.tui.panels.points import Points
from grpotui.tui.widgets.chart import LineChart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.feed.feed import Feed


class OverlayChart(LineChart):
    """A line a run, in the order of the runs; which of them do not print the metric is said in the frame.

    Of the metrics that it may show it takes the one that most runs print: one chart never mixes two.
    """

    def __init__(self, metrics: Sequence[str], runs: Sequence[str]) -> None:
        super().__init__()
        self._metrics = tuple(metrics)
        self._runs = tuple(runs)
        self.metric = self._metrics[0]
        self._points: list[Points] = []
        self._shown: object = None
        self.show(Chart(self.metric, empty="reading…"))

    def update(self, feeds: Sequence[Feed], names: Sequence[Sequence[str]], *, reading: bool) -> bool:
        """Takes what is new; `names` are the metrics of each run. Returns whether there is more to ask for."""
        metric = max(self._metrics, key=lambda one: sum(one in known for known in names))
        if metric != self.metric or not self._points:
            self.metric, self._points = metric, [Points(metric) for _ in feeds]
        found = [points.update(feed, self.axis) for points, feed in zip(self._points, feeds, strict=True)]
        without = [str(at + 1) for at, known in enumerate(names) if metric not in known]
        shown = (metric, tuple(id(points.x) for points in self._points), tuple(without), reading)
        if any(new for new, _ in found) or shown != self._shown:
            self._shown = shown
            self.show(self._told(without, reading=reading))
        return any(more for _, more in found)

    def last(self) -> str | None:
        """The newest value of each run in words; None where there is none."""
        values = [f"{run} {number(p.y[-1])}" for run, p in zip(self._runs, self._points, strict=False) if p.y]
        return ", ".join(values) or None

    def _told(self, without: Sequence[str], *, reading: bool) -> Chart:
        pairs = zip(self._runs, self._points, strict=True)
        lines = tuple(Line(run, points.series, len(points.x)) for run, points in pairs)
        note = "" if reading or not without else f"not in {', '.join(without)}"
        empty = "reading…" if reading else "printed by none of these runs"
        return Chart(self.metric, lines, note=note, empty=empty)
