"""The keys of several charts: what they count by, their scale, smoothing, a mark in all of them, one of them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar, get_args

from textual.widget import Widget

from grpotui.text import inert
from grpotui.tui.chart_parts import Axis
from grpotui.tui.widgets.chart import LineChart
from grpotui_supervisor.source.curves import TOKENS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SMOOTHING: Final = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99)
AXES: Final[tuple[Axis, ...]] = get_args(Axis)
C = TypeVar("C", bound=LineChart)


def smoother(smoothing: float, way: int) -> float:
    """The next step of smoothing, or the one before; at both ends it stays."""
    return SMOOTHING[min(max(SMOOTHING.index(smoothing) + way, 0), len(SMOOTHING) - 1)]


def next_axis(axis: Axis, names: Collection[str]) -> Axis:
    """What a chart counts by next: tokens only where one of the metrics counts them."""
    known = AXES if TOKENS in names else tuple(one for one in AXES if one != "tokens")
    return known[(known.index(axis) + 1) % len(known)]


class ChartKeys(Generic[C], Widget):  # noqa: PYI059  (Textual's Screen has them in this order)
    """Actions upon `charts`; whoever has them binds the keys, and says here what differs.

    Attributes:
        charts: those that are shown, in their order.
        axis: what all of them count by.
        smoothing: of all of them.
    """

    charts: Sequence[C] = ()
    axis: Axis = "step"
    smoothing: float = 0.0

    def redraw(self) -> None:
        """Another axis, or another chart alone."""
        raise NotImplementedError

    def names(self) -> Collection[str]:
        """The metrics that there are."""
        raise NotImplementedError

    def copied(self, chart: C) -> str | None:
        """A chart's newest value with its name; None where there is none."""
        raise NotImplementedError

    def say_smoothing(self) -> None:
        """Tells the person how smooth they are."""
        raise NotImplementedError

    @property
    def chosen(self) -> C:
        """The one that has the focus, else the first."""
        return next((chart for chart in self.charts if chart.has_focus), self.charts[0])

    @property
    def zoomed(self) -> C | None:
        """The chart that is alone."""
        return next((chart for chart in self.charts if chart.has_class("-zoomed")), None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Where nothing is zoomed the key leads further back."""
        return False if action == "unzoom" and self.zoomed is None else super().check_action(action, parameters)

    def on_line_chart_zoomed(self, event: LineChart.Zoomed) -> None:
        """All charts show the same part of their axis."""
        for chart in self.charts:
            chart.window = event.window

    def zoom(self, chosen: C | None) -> None:
        """This one alone, or all."""
        self.set_class(chosen is not None, "-zoomed")
        for chart in self.charts:
            chart.set_class(chart is chosen, "-zoomed")
        if chosen is not None:
            chosen.focus()
        self.redraw()

    def action_zoom(self) -> None:
        """One chart alone, and back."""
        self.zoom(self.chosen if self.zoomed is None else None)

    def action_unzoom(self) -> None:
        """All charts again."""
        self.zoom(None)

    def action_go(self, way: int) -> None:
        """Moves the focus; a zoomed chart gives its place to its neighbour."""
        chosen = self.charts[(self.charts.index(self.chosen) + way) % len(self.charts)]
        if self.zoomed is None:
            chosen.focus()
        else:
            self.zoom(chosen)

    def action_axis(self) -> None:
        """What the charts count by; where they do not print their tokens, that is said."""
        before, self.axis = self.axis, next_axis(self.axis, self.names())
        for chart in self.charts:
            chart.axis = self.axis
            chart.crosshair = None
        if before == "time" and self.axis != "tokens":
            self.notify("Tokens are not printed here.", markup=False)
        self.redraw()

    def action_log(self) -> None:
        """The scale of one chart."""
        self.chosen.log_y = not self.chosen.log_y

    def action_smooth(self, way: int) -> None:
        """All charts alike."""
        self.smoothing = smoother(self.smoothing, way)
        for chart in self.charts:
            chart.smoothing = self.smoothing
        self.say_smoothing()

    def action_mark(self) -> None:
        """The crosshair of one chart as a line in all of them; again, and it is gone."""
        place = self.chosen.crosshair
        for chart in self.charts:
            chart.cursor = None if chart.cursor == place else place

    def action_copy(self) -> None:
        """The newest value of one chart, with its name."""
        value = self.copied(self.chosen)
        if value is not None:
            words = inert(value)
            self.app.copy_to_clipboard(words)
            self.notify(f"copied: {words}", markup=False, timeout=2)
