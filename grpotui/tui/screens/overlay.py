"""Several runs laid over each other: six charts with a line a run, and what differs between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from grpotui.text import inert
from grpotui.tui.feed.settings import differing_settings
from grpotui.tui.panels.chart_keys import ChartKeys
from grpotui.tui.panels.overlay_chart import OverlayChart
from grpotui.tui.panels.run_table import RunTable
from grpotui.tui.panels.specs import SPECS
from grpotui.tui.screens.key_line import KeyLine
from grpotui.tui.screens.run import LEAST_HEIGHT, LEAST_WIDTH
from grpotui.tui.widgets.chart import LineChart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from grpotui.tui.feed.feed import Feed

_PERIOD_S: Final = 1 / 8
_SMALL: Final = f"This terminal is too small: {LEAST_WIDTH} × {LEAST_HEIGHT} at least."
_COMPACT: Final = 30
"""Lower than this the table has no frame, and no settings."""


class NewRun(Message):
    """One of the feeds has something to show."""

    bubble = False


class OverlayScreen(ChartKeys[OverlayChart], Screen[None]):
    """Takes feeds that were not started yet, starts them, and closes them when it goes.

    They may be of any kind: a finished run, one that goes on, a bare log. Their order is that of the colours.
    """

    DEFAULT_CSS = """
    OverlayScreen { layout: vertical; }
    OverlayScreen #head { height: 1; width: 1fr; background: $panel; padding: 0 1; }
    OverlayScreen #charts { layout: grid; grid-size: 3 2; height: 1fr; }
    OverlayScreen.-zoomed #charts { grid-size: 1 1; }
    OverlayScreen.-zoomed OverlayChart { display: none; }
    OverlayScreen.-zoomed OverlayChart.-zoomed { display: block; }
    OverlayScreen #small { display: none; height: 1fr; content-align: center middle; text-align: center; }
    OverlayScreen.-small #small { display: block; }
    OverlayScreen.-small #head, OverlayScreen.-small #charts, OverlayScreen.-small RunTable,
    OverlayScreen.-small KeyLine { display: none; }
    OverlayScreen.-low RunTable { padding: 0 1; }
    """
    BINDINGS: ClassVar = [
        Binding("z,enter", "zoom", "zoom", key_display="z", id="overlay-zoom"),
        Binding("x", "axis", "axis", id="overlay-axis"),
        Binding("y", "log", "log scale", id="overlay-log"),
        Binding("plus,equals_sign", "smooth(1)", "smoother", key_display="+", id="overlay-smoother"),
        Binding("minus", "smooth(-1)", "less smooth", key_display="-", show=False, id="overlay-rougher"),
        Binding("m", "mark", "mark the place in all charts", show=False, id="overlay-mark"),
        Binding("c", "copy", "copy the last values", show=False, id="overlay-copy"),
        Binding("h", "go(-1)", "chart before", show=False, id="overlay-before"),
        Binding("l", "go(1)", "next chart", show=False, id="overlay-next"),
        Binding("escape", "unzoom", "back to all charts", show=False, id="overlay-unzoom"),
    ]

    def __init__(self, feeds: Sequence[Feed]) -> None:
        super().__init__()
        self._feeds = list(feeds)
        names = [inert(feed.title) for feed in feeds]
        self.charts = [OverlayChart(spec.metrics, names) for spec in SPECS]
        self._table = RunTable(names)
        self._new = True

    def compose(self) -> ComposeResult:
        """Charts above, the table below."""
        yield Static(id="head")
        with Container(id="charts"):
            yield from self.charts
        yield self._table
        yield Static(Content(_SMALL), id="small")
        yield KeyLine(self.BINDINGS, ("q", "back"))

    def on_mount(self) -> None:
        """Reading begins."""
        self.charts[0].focus()
        for feed in self._feeds:
            feed.start(lambda: self.post_message(NewRun()))
        self.set_interval(_PERIOD_S, self._draw)
        self.run_worker(self._compare, thread=True, exit_on_error=False)
        self._say_how()

    def on_unmount(self) -> None:
        """What nobody looks at is not read on."""
        for feed in self._feeds:
            feed.closing.set()
            self.app.run_worker(feed.close, thread=True, exit_on_error=False)

    def on_resize(self, event: events.Resize) -> None:
        """A frame around the table only where there is room for it."""
        self.set_class(event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT, "-small")
        self._arrange(event.size.height)

    def on_new_run(self) -> None:
        """Drawn at the next turn: six runs may each say so eight times a second."""
        self._new = True

    def bindings_by_page(self) -> list[tuple[str, list[Binding]]]:
        """For the help."""
        own = [("overlay of runs", self.BINDINGS), ("chart", LineChart.BINDINGS)]
        return [(name, [b for b in found if isinstance(b, Binding)]) for name, found in own]

    def _compare(self) -> None:
        found = differing_settings(self._feeds)
        self.app.call_from_thread(self._show_settings, found)

    def _show_settings(self, found: list[tuple[str, list[str]]]) -> None:
        self._table.show_settings(found)
        self._arrange(self.size.height)

    def _arrange(self, high: int) -> None:
        low = high < _COMPACT
        self.set_class(low, "-low")
        self._table.set_class(low, "-bare")
        runs = len(self._feeds) + 1
        self._table.styles.height = runs if low else min(self._table.wanted(), max(runs, high // 3)) + 2

    def _draw(self) -> None:
        if not self._new:
            return
        self._new = False
        frames = [feed.take() for feed in self._feeds]
        errors = [None if feed.error is None else inert(f"cannot be read: {feed.error}") for feed in self._feeds]
        names = [feed.names() for feed in self._feeds]
        reading = any(frame.is_empty and error is None for frame, error in zip(frames, errors, strict=True))
        with self.app.batch_update():
            for chart in self.charts:
                if chart.display and chart.update(self._feeds, names, reading=reading):
                    self._new = True
            self._table.show(frames, errors)

    def _say_how(self) -> None:
        """The first line: how many runs, and what the charts count by."""
        parts = [f"by {self.axis}", *([f"smoothing {self.smoothing:g}"] if self.smoothing else [])]
        head = (f"{len(self._feeds)} runs over each other", "bold")
        self.query_one("#head", Static).update(
            Content.assemble(("grpotui  ", "$text-muted"), head, f"  {' · '.join(parts)}")
        )

    def redraw(self) -> None:
        """At the next turn."""
        self._new = True
        self._say_how()

    def names(self) -> set[str]:
        """The metrics of all runs."""
        return {name for feed in self._feeds for name in feed.names()}

    def copied(self, chart: OverlayChart) -> str | None:
        """The metric's name, and the value of each run."""
        values = chart.last()
        return None if values is None else f"{chart.metric}: {values}"

    def say_smoothing(self) -> None:
        """In the first line."""
        self._say_how()
