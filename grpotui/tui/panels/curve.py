"""One metric as a chart that keeps up with its feed."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.message import Message

from grpotui.text import number
from grpotui.tui.chart_parts import Chart, Line, Mark
from grpotui.tui.panels.absence import no_points
from grpotui.tui.panels.bands import Bands
from grpotui.tui.panels.members import sign
from grpotui.tui.panels.points import Points
from grpotui.tui.panels.specs import Spec, chosen, fitting
from grpotui.tui.widgets.chart import LineChart
from grpotui_supervisor.source.curves import RAW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.chart_parts import Band
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame

_MORE_S = 0.05
_PARTS = 5
"""Lines beside the first one, at most: a chart tells six apart."""


class CurveChart(LineChart):
    """A chart of one of the metrics of a spec, or the reason why there is none."""

    BINDINGS = [Binding("enter", "zoom", "zoom", show=False)]  # noqa: RUF012  (Textual's word)

    class Asked(Message):
        """A person wants this chart alone, or (`leave`) the others back."""

        def __init__(self, chart: CurveChart, *, leave: bool) -> None:
            super().__init__()
            self.chart, self.leave = chart, leave

    def __init__(self, spec: Spec, *, colour: int) -> None:
        super().__init__(colour=colour)
        self.spec = spec
        self.points = Points(spec.metrics[0])
        self.parts: list[Points] = []
        """The lines beside the first one, while it is zoomed."""
        self._bands = Bands(self.points.metric)
        self._band: Band | None = None
        self._marked: Points | None = None
        self._deaths: tuple[object, tuple[float, ...]] = (None, ())
        self.show(Chart(spec.title or self.metric, empty="reading…"))
        self._shown: object = None

    @property
    def metric(self) -> str:
        """The one that is shown, or would be."""
        return self.points.metric

    def take(self, spec: Spec) -> None:
        """Shows other metrics from now on."""
        if spec != self.spec:
            self.spec, self.parts, self._marked = spec, [], None
            self._show_metric(spec.metrics[0])
            self._shown = self.crosshair = None

    def update(self, feed: Feed, frame: Frame, names: Sequence[str]) -> None:
        """Takes what is new; draws only where that is anything."""
        metric = chosen(self.spec, names)
        if metric != self.points.metric:
            self._show_metric(metric)
        changed, more = self.points.update(feed, self.axis)
        for part in self._zoomed_parts(names):
            anew, rest = part.update(feed, self.axis)
            changed, more = changed or anew, more or rest
        self._band = self._bands.update(feed, self.axis, self.points, names)
        marks = (*self._validations(feed, names), *self._marks(feed, frame))
        noted = self._note(frame) + (" unreliable" if self.metric in feed.doubts() else "")
        lines = tuple((part.metric, len(part.x)) for part in (self.points, *self.parts))
        empty = no_points(metric, frame, feed.facts())
        shown = (id(self.points.x), lines, marks, noted, empty, self._band)
        if changed or shown != self._shown:
            self._shown = shown
            self.show(self._chart_of(marks, noted, empty))
        if more:
            self.set_timer(_MORE_S, lambda: self.update(feed, frame, names))

    def _show_metric(self, metric: str) -> None:
        self.points, self._bands = Points(metric), Bands(metric)

    def last(self) -> str | None:
        """The newest value in words; None where there is none."""
        return number(self.points.y[-1]) if self.points.y else None

    def _zoomed_parts(self, names: Sequence[str]) -> list[Points]:
        """What is shown beside it, where there is room for it."""
        wanted = fitting(self.spec.parts, names, [self.metric])[:_PARTS] if self.has_class("-zoomed") else []
        if [part.metric for part in self.parts] != wanted:
            self.parts = [Points(name) for name in wanted]
        return self.parts

    def _chart_of(self, marks: tuple[Mark, ...], noted: str, empty: str) -> Chart:
        apart = [one for one in self.parts if one.y != self.points.y]  # verl's score is its reward without a penalty
        lines = [Line(one.metric, one.series, len(one.x)) for one in (self.points, *apart) if len(one.x)]
        title = self.metric.removeprefix(RAW) if len(self.points.x) or not self.spec.title else self.spec.title
        return Chart(title, tuple(lines), (), marks, noted, empty, self._band)

    def _note(self, frame: Frame) -> str:
        metrics = frame.document["metrics"]
        words = [
            form.format(value) for name, form in self.spec.noted if not isinstance(value := metrics.get(name, ""), str)
        ]
        if self._marked is not None and self._marked.y:
            words.append(f"val {number(self._marked.y[-1])}")
        return " ".join(words)

    def _validations(self, feed: Feed, names: Sequence[str]) -> list[Mark]:
        """The first of the run's validation metrics: others may be of another scale."""
        prefix = self.spec.marked
        name = None if prefix is None else next((found for found in names if found.startswith(prefix)), None)
        if name is None:
            self._marked = None
            return []
        if self._marked is None or self._marked.metric != name:
            self._marked = Points(name)
        self._marked.update(feed, self.axis)
        return [Mark("validation", x, y) for x, y in zip(self._marked.x, self._marked.y, strict=True)]

    def _marks(self, feed: Feed, frame: Frame) -> list[Mark]:
        """Findings and restarts at their steps, and deaths behind the last point before them."""
        document, marks = frame.document, []
        if self.axis == "step":
            found = [one for one in document["findings"] if one["step"] is not None]
            marks = [Mark("finding", float(one["step"]), None, one["severity"]) for one in found]
            marks += [Mark("restart", float(step), name="began again") for step in document["progress"]["restarted_at"]]
        died = tuple(
            member["ended_offset_s"]
            for member in document["ranks"]
            if member["ended_offset_s"] is not None and sign(member)[1] == "critical"
        )
        return marks + [Mark("death", x, None, "critical") for x in self._places(feed, died)]

    def _places(self, feed: Feed, died: tuple[float, ...]) -> tuple[float, ...]:
        """Where on this axis the deaths are; looked up again only when there is another, or another curve."""
        if not died or not len(self.points.x):
            return ()
        if self.axis == "time":
            return tuple(min(offset, self.points.x[-1]) for offset in died)
        key = (died, self.metric, self.axis, id(self.points.x), len(self.points.x))
        if key != self._deaths[0]:
            times = feed.curve(self.metric, axis="time").x
            places = [min(bisect_right(times, offset), len(self.points.x)) - 1 for offset in died]
            self._deaths = key, tuple(dict.fromkeys(self.points.x[place] for place in places if place >= 0))
        return self._deaths[1]

    def action_zoom(self) -> None:
        """The page knows how."""
        self.post_message(self.Asked(self, leave=False))

    def action_leave(self) -> None:
        """No crosshair; without one the zoom is what is left."""
        if self.crosshair is None:
            self.post_message(self.Asked(self, leave=True))
        super().action_leave()
