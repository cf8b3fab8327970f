"""A chart of one metric over steps, time or tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.message import Message
from textual.reactive import reactive

from grpotui.tui import readout, zoom
from grpotui.tui.chart_parts import Axis, Chart, Look
from grpotui.tui.plot import Plotter
from grpotui.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from textual import events

    from grpotui.tui.cells import Run, Sheet

_ALONG = 0.25
"""Share of the window that it moves by."""


class LineChart(Drawn, can_focus=True):
    """Lines with their envelope, limits and marks in a frame that holds title, last value and axis.

    It is told what to show by `show`; the reactive attributes say how. Arrow keys and the mouse move a crosshair, the
    wheel and parentheses the part of the axis that is shown; a part that reaches the last point goes on with it.
    """

    DEFAULT_CSS = "LineChart { width: 1fr; height: 1fr; }"
    BINDINGS: ClassVar = [
        Binding("left", "move(-1)", "earlier point", show=False),
        Binding("right", "move(1)", "later point", show=False),
        Binding("home", "end(-1)", "first point", show=False),
        Binding("end", "end(1)", "last point", show=False),
        Binding("escape", "leave", "no crosshair", show=False),
        Binding("right_parenthesis", "nearer(1)", "nearer (or the wheel)", key_display=")", show=False),
        Binding("left_parenthesis", "nearer(-1)", "farther", key_display="(", show=False),
        Binding("shift+left", "along(-1)", "zoomed in: earlier (or shift and the wheel)", show=False),
        Binding("shift+right", "along(1)", "zoomed in: later", show=False),
        Binding("0", "whole", "all of the axis again", show=False),
    ]

    axis: reactive[Axis] = reactive[Axis]("step", repaint=False)
    log_y: reactive[bool] = reactive(False, repaint=False)
    smoothing: reactive[float] = reactive(0.0, repaint=False)
    window: reactive[zoom.Window | None] = reactive[zoom.Window | None](None, repaint=False)
    cursor: reactive[float | None] = reactive[float | None](None, repaint=False)
    crosshair: reactive[float | None] = reactive[float | None](None, repaint=False)
    held: reactive[bool] = reactive(False, repaint=False)

    class Pointed(Message):
        """The crosshair of a chart was moved by a person; None: taken away."""

        def __init__(self, chart: LineChart, x: float | None) -> None:
            super().__init__()
            self.chart, self.x = chart, x

        @property
        def control(self) -> LineChart:
            """The chart."""
            return self.chart

    class Zoomed(Message):
        """A person chose the part of the axis that a chart shows; None: all of it."""

        def __init__(self, chart: LineChart, window: zoom.Window | None) -> None:
            super().__init__()
            self.chart, self.window = chart, window

        @property
        def control(self) -> LineChart:
            """The chart."""
            return self.chart

    def __init__(self, *, colour: int = 0, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(colour=colour, id=id, classes=classes)
        self._chart = Chart("", empty="")
        self._plotter = Plotter()
        self._whole: zoom.Window | None = None

    def show(self, chart: Chart) -> None:
        """What there is to show now; its series may be the ones of before, grown."""
        self._chart = chart
        self.redraw()

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """The chart, its frame lit while it has the focus."""
        if self.window is not None:
            self._follow()
        shown = (self.window, self.cursor, self.crosshair, self.held)
        look = Look(sheet.glyphs, self.axis, self.log_y, self.smoothing, *shown)
        rows = self._plotter.draw(self._chart, look, sheet.wide, sheet.high)
        layout = self._plotter.layout
        self._whole = layout.whole if layout is not None else None
        return [[(t, "frame_focus" if r == "frame" else r) for t, r in row] for row in rows] if self.has_focus else rows

    def _follow(self) -> None:
        reaches = [reach for line in self._chart.lines if (reach := line.series.reach(line.count))]
        if reaches:
            whole = min(low for low, _ in reaches), max(high for _, high in reaches)
            self.set_reactive(LineChart.window, zoom.followed(self.window, self._whole, whole))

    def _changed(self) -> None:
        self.redraw()

    watch_log_y = watch_smoothing = watch_window = watch_cursor = watch_crosshair = watch_held = _changed
    on_focus = on_blur = _changed

    def watch_axis(self) -> None:
        """Another axis: a part of the last one is no part of it."""
        self.set_reactive(LineChart.window, None)
        self.redraw()

    def action_move(self, step: int) -> None:
        """To the next place with a point; the first one is the last point."""
        layout = self._plotter.layout
        if layout is None:
            return
        at = self.crosshair
        column = layout.grid.column(at) if at is not None and layout.grid.shows(at) else layout.grid.columns
        self._point(readout.neighbour(layout.filled(), column, -1 if at is None else step))

    def action_end(self, side: int) -> None:
        """To the first or the last point."""
        layout = self._plotter.layout
        filled = layout.filled() if layout is not None else []
        self._point(filled[0 if side < 0 else -1] if filled else None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a crosshair the key means something to what the chart lies in."""
        return False if action == "leave" and self.crosshair is None else super().check_action(action, parameters)

    def action_leave(self) -> None:
        """No crosshair."""
        self._point(None)

    def action_nearer(self, way: int) -> None:
        """Around the crosshair, else around the last point."""
        layout = self._plotter.layout
        if layout is not None:
            pointed = layout.pointed
            self._zoom(layout.reach[1] if pointed is None else pointed, way)

    def action_along(self, way: int) -> None:
        """The window moves."""
        layout = self._plotter.layout
        if layout is not None:
            self._choose(zoom.panned(self.window, layout.whole, way * _ALONG))

    def action_whole(self) -> None:
        """No window."""
        self._choose(None)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Nearer around the mouse, or earlier."""
        self._wheel(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Farther, or later."""
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, way: int) -> None:
        layout = self._plotter.layout
        if layout is None:
            return
        if self.window is None and way < 0:
            return  # all of it is shown: the page may scroll
        event.stop()
        event.prevent_default()
        if event.shift:
            self.action_along(-way)
            return
        column = (int(event.x) - 1 - layout.gutter) * layout.look.glyphs.across
        self._zoom(layout.grid.border(min(max(0, column), layout.grid.columns)), way)

    def _zoom(self, at: float, way: int) -> None:
        layout = self._plotter.layout
        if layout is not None:
            points = max(line.count for line in layout.lines)
            at = min(max(at, layout.reach[0]), layout.reach[1])
            self._choose(zoom.zoomed(self.window, layout.whole, points, at, zoom.STEP**-way))

    def _choose(self, window: zoom.Window | None) -> None:
        if window != self.window:
            self.window = window
            self.post_message(self.Zoomed(self, window))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The crosshair follows the mouse."""
        layout = self._plotter.layout
        if layout is None:
            return
        column = (int(event.x) - 1 - layout.gutter) * layout.look.glyphs.across
        inside = 0 <= column < layout.grid.columns and 0 < event.y < self.size.height - 1
        self._point(readout.nearest(layout.filled(), column) if inside else None)

    def on_leave(self) -> None:
        """The mouse is elsewhere."""
        if not self.is_mouse_over:
            self._point(None)

    def _point(self, column: int | None) -> None:
        layout = self._plotter.layout
        x = layout.x_of(column) if layout is not None and column is not None else None
        if x != self.crosshair:
            self.crosshair = x
            self.post_message(self.Pointed(self, x))
