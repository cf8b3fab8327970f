"""Page 1: is it alive, is anything wrong, is it learning, where does the time go, memory, ranks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.containers import Container

from grpotui.tui.panels.chart_keys import ChartKeys
from grpotui.tui.panels.curve import CurveChart
from grpotui.tui.panels.detail import Detail
from grpotui.tui.panels.members import Members
from grpotui.tui.panels.memory import GpuMemory
from grpotui.tui.panels.memory_history import MemoryHistory, has_readings
from grpotui.tui.panels.notable import Notable
from grpotui.tui.panels.page import Page
from grpotui.tui.panels.room import Room, room_for
from grpotui.tui.panels.specs import SPECS, Spec, further
from grpotui.tui.panels.times import Times
from grpotui.tui.pins import Pins
from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame

MOST_CHARTS: Final = 12


def pins() -> Callable[[str | None], Sequence[str]]:
    """What the user has pinned, looked up anew as often as it is asked for; nothing where there is no state root."""
    try:
        found = Pins.of(os.environ)
    except UsageError:
        return lambda _: ()

    def pinned(framework: str | None) -> Sequence[str]:
        found.reload()
        return found.pinned(framework)

    return pinned


class Overview(ChartKeys[CurveChart], Page):
    """Six charts and, where there is room, further ones; below them what is not a curve."""

    DEFAULT_CSS = """
    Overview { layout: vertical; }
    Overview #charts { layout: grid; grid-size: 3 2; height: 1fr; }
    Overview #lower { layout: horizontal; height: 4; }
    Overview.-compact #lower { layout: vertical; }
    Overview GpuMemory { width: 7fr; }
    Overview MemoryHistory { width: 4fr; display: none; }
    Overview.-history MemoryHistory { display: block; }
    Overview Members { width: 8fr; }
    Overview.-compact Members { width: 1fr; height: 1; }
    Overview.-compact GpuMemory { width: 1fr; }
    Overview CurveChart.-spare { display: none; }
    Overview Detail { display: none; }
    Overview.-zoomed #charts { grid-size: 1 1; }
    Overview.-zoomed Times, Overview.-zoomed #lower, Overview.-zoomed Notable { display: none; }
    Overview.-zoomed CurveChart { display: none; }
    Overview.-zoomed CurveChart.-zoomed, Overview.-zoomed Detail { display: block; }
    """
    BINDINGS: ClassVar = [
        Binding("z", "zoom", "zoom"),
        Binding("escape", "unzoom", "back to all charts", show=False),
        Binding("x", "axis", "step, time or tokens", show=False),
        Binding("y", "log", "log scale", show=False),
        Binding("plus,equals_sign", "smooth(1)", "smoother", key_display="+", show=False),
        Binding("minus", "smooth(-1)", "less smooth", key_display="-", show=False),
        Binding("m", "mark", "mark the place in all charts", show=False),
        Binding("c", "copy", "copy the value", show=False),
        Binding("h", "go(-1)", "chart before", show=False),
        Binding("l", "go(1)", "next chart", show=False),
    ]

    def __init__(self, feed: Feed, pinned: Callable[[str | None], Sequence[str]] | None = None) -> None:
        """`pinned` gives the metrics that a person wants to see here, by framework, in their order."""
        super().__init__(feed)
        self._pinned = pinned or pins()
        spare = [Spec(("",)) for _ in range(MOST_CHARTS - len(SPECS))]
        self._all = [CurveChart(spec, colour=number % 6) for number, spec in enumerate((*SPECS, *spare))]
        self.charts = self._all[: len(SPECS)]
        self._times, self._memory, self._history = Times(), GpuMemory(), MemoryHistory()
        self._members, self._notable, self._detail = Members(), Notable(), Detail()
        self._grid, self._lower = Container(id="charts"), Container(id="lower")
        self._frame: Frame | None = None
        self._room = Room()
        for chart in self._all[len(SPECS) :]:
            chart.add_class("-spare")

    def compose(self) -> ComposeResult:
        """Charts in rows, the rest below them."""
        with self._grid:
            yield from self._all
        yield self._detail
        yield self._times
        with self._lower:
            yield self._memory
            yield self._history
            yield self._members
        yield self._notable

    def enter(self) -> None:
        """The first chart takes the arrow keys."""
        self.charts[0].focus()

    def show(self, frame: Frame) -> None:
        """The newest frame."""
        self._frame = frame
        names = self.feed.names()
        if self.zoomed is not None:
            self.zoomed.update(self.feed, frame, names)
            self._detail.show(self.feed, frame, self.zoomed, names)
            self._arrange()
            return
        self._choose(names)
        for chart in self.charts:
            chart.update(self.feed, frame, names)
        self._times.show_frame(self.feed, frame)
        self._memory.show_frame(frame)
        self._history.show(self.feed, frame)
        self._members.show(frame)
        self._notable.show(self.feed, frame)
        self._arrange()

    def on_resize(self, event: events.Resize) -> None:
        """What a size has room for."""
        self._room = room_for(event.size.width, event.size.height)
        self.set_class(self._room.compact, "-compact")
        for panel in (self._memory, self._members, self._notable, self._times):
            panel.set_class(self._room.compact, "-bare")
        self.redraw()

    def _choose(self, names: Sequence[str]) -> None:
        """The six, then as many further ones as there is room for and something to show in."""
        pinned = self._pinned(None if self._frame is None else self._frame.document["framework"])
        wanted = further(self._room.further(len(pinned)), pinned, names)
        for chart, name in zip(self._all[len(SPECS) :], wanted, strict=False):
            chart.take(Spec((name,), related=(f"{name.partition('/')[0]}/",)))
        count = len(SPECS) + len(wanted)
        if count != len(self.charts):
            self.charts = self._all[:count]
            for number, chart in enumerate(self._all):
                chart.set_class(number >= count, "-spare")
            self._adopt()

    def _adopt(self) -> None:
        """Charts that come later look as the others do."""
        for chart in self.charts:
            chart.axis, chart.smoothing = self.axis, self.smoothing

    def _arrange(self) -> None:
        """Rows of charts; heights of what lies below them: as much as it has to say."""
        if self._frame is None or not self.children:
            return
        document, room = self._frame.document, self._room
        styles = self._grid.styles
        columns, rows = (1, 1) if self.zoomed is not None else room.grid(len(self.charts))
        styles.grid_size_columns, styles.grid_size_rows = columns, rows
        self._detail.styles.height = min(self._detail.wanted() + 2, max(5, room.high // 2))
        told = any(gpu["returned"] is not None for gpu in document["gpus"])  # needs the room more than the history
        self.set_class(room.history(told=told) and has_readings(document), "-history")
        memory, notable = self._memory, self._notable
        lines = max(len(document["ranks"]), len(document["gpus"]) + 1 if document["run"] else 1)
        most = max(1, room.high // 5)
        self._lower.styles.height = memory.wanted() + 1 if room.compact else min(lines, most) + 2
        memory.styles.height = memory.wanted() if room.compact else "1fr"
        notable.styles.height = min(2, notable.wanted()) if room.compact else min(notable.wanted(), most) + 2
        self._times.styles.height = 1 if room.compact else 3 + max(3, room.high // 9)

    def on_detail_grown(self) -> None:
        """Its numbers come in turns."""
        self._arrange()

    def on_curve_chart_asked(self, event: CurveChart.Asked) -> None:
        """Enter and Escape on a chart."""
        if event.leave:
            self.action_unzoom()
        else:
            event.chart.focus()
            self.action_zoom()

    def redraw(self) -> None:
        """The newest frame once more."""
        if self._frame is not None:
            self.show(self._frame)

    def names(self) -> Sequence[str]:
        """The metrics of the run."""
        return self.feed.names()

    def copied(self, chart: CurveChart) -> str | None:
        """The metric's name and the number."""
        value = chart.last()
        return None if value is None else f"{chart.metric} {value}"

    def say_smoothing(self) -> None:
        """No place on the page tells it."""
        self.notify(f"smoothing {self.smoothing:g}", markup=False, timeout=1.5)
