"""Page 3: each device, its memory through the phases, who is on it, and whether it came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.binding import Binding
from textual.containers import Container

from grpotui.tui.panels.device_chart import DeviceChart
from grpotui.tui.panels.device_tables import Devices, Processes
from grpotui.tui.panels.device_words import device_facts, machine_facts
from grpotui.tui.panels.facts import Facts
from grpotui.tui.panels.page import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.panels.table import Table

_NARROW: Final = 100
_LEAST_CHART: Final = 10


class Gpus(Page):
    """A table of the devices; the rest of the page is about the chosen one."""

    DEFAULT_CSS = """
    Gpus { layout: vertical; }
    Gpus #device { layout: horizontal; }
    Gpus.-narrow #device { layout: vertical; }
    Gpus.-none Devices, Gpus.-none DeviceChart, Gpus.-none Processes { display: none; }
    Gpus.-none #device { height: 1fr; }
    Gpus Processes { width: 2fr; }
    Gpus Facts { width: 3fr; }
    Gpus.-narrow Processes, Gpus.-narrow Facts { width: 1fr; }
    """
    BINDINGS: ClassVar = [
        Binding("up,k", "device(-1)", "GPU before", show=False),
        Binding("down,j", "device(1)", "next GPU", key_display="↑↓"),
        Binding("w", "span", "15 min, 2 min, all"),
        Binding("pagedown", "scroll_facts(1)", "more of what is known", show=False),
        Binding("pageup", "scroll_facts(-1)", "back up", show=False),
    ]

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed)
        self._devices, self._processes = Devices(), Processes()
        self._chart, self._facts = DeviceChart(feed), Facts("GPUs")
        self._below = Container(id="device")
        self._frame: Frame | None = None

    def compose(self) -> ComposeResult:
        """Table, chart, and below them what is known."""
        yield self._devices
        yield self._chart
        with self._below:
            yield self._processes
            yield self._facts

    def enter(self) -> None:
        """The chart has the crosshair; up and down choose the device."""
        self.can_focus = True
        (self if self.has_class("-none") else self._chart).focus()

    def show(self, frame: Frame) -> None:
        """The newest frame."""
        self._frame = frame
        document = frame.document
        self.set_class(not document["gpus"], "-none")
        gpu = self._chosen(document)
        if gpu is None:
            reason = str(document["gpu_unavailable"] or "no GPU is known")
            self._facts.show([("GPU", reason, "warning"), *machine_facts(document)], title="GPUs")
            return
        self._devices.show(document)
        self._processes.show(gpu)
        silent = document.get("gpu_silent_s")
        late = [("NVML", f"has not answered for {silent:.0f} s", "warning")] if silent else []
        facts = [*late, *device_facts(gpu, document), *machine_facts(document)]
        self._facts.show(facts, title=f"GPU {gpu['gpu']}")
        self._chart.update(gpu, frame)
        self._arrange()

    def on_resize(self, event: events.Resize) -> None:
        """Side by side, or below each other without frames."""
        narrow = event.size.width < _NARROW
        self.set_class(narrow, "-narrow")
        for panel in (self._devices, self._processes):
            panel.set_class(narrow, "-bare")
        self._arrange()

    def on_table_chosen(self, event: Table.Chosen) -> None:
        """Another device, or another process."""
        if event.table is self._devices and self._frame is not None:
            self.show(self._frame)

    def action_device(self, way: int) -> None:
        """Another one."""
        self._devices.move(way)

    def action_span(self) -> None:
        """Another stretch of time."""
        self.notify(f"shown: {self._chart.next_span()}", markup=False, timeout=1.5)

    def action_scroll_facts(self, way: int) -> None:
        """What has no room."""
        self._facts.page(way)

    def _chosen(self, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
        gpus = document["gpus"]
        return gpus[min(self._devices.chosen, len(gpus) - 1)] if gpus else None

    def _arrange(self) -> None:
        """The chart has what the others leave, and a share of its own."""
        if self._frame is None or not self._frame.document["gpus"]:
            return
        wide, high = self.size
        gpu = self._chosen(self._frame.document)
        narrow, frames = self.has_class("-narrow"), 0 if self.has_class("-narrow") else 2
        devices = min(len(self._frame.document["gpus"]) + 1 + frames, max(3, high // 3))
        listed = max(1, len((gpu or {}).get("processes") or ())) + 1 + frames
        told = self._facts.wanted(wide if narrow else wide * 3 // 5)
        room = max(4, high - devices - _LEAST_CHART)
        self._devices.styles.height = devices
        self._processes.styles.height = min(listed, max(2, room // 3)) if narrow else "1fr"
        wanted = told + min(listed, max(2, room // 3)) if narrow else max(told, listed)
        self._below.styles.height = min(wanted, room)
