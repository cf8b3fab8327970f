"""Page 4: every metric of the run, by the canonical names and the framework's own keys."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.worker import get_current_worker

from grpotui.text import number
from grpotui.tui import cells
from grpotui.tui.panels.chart_keys import next_axis, smoother
from grpotui.tui.panels.curve import CurveChart
from grpotui.tui.panels.filter_line import FilterLine
from grpotui.tui.panels.listing import MOVES, Listing
from grpotui.tui.panels.metric_rows import SORTS, Metric, in_order, matching, metrics_of
from grpotui.tui.panels.specs import Spec
from grpotui.tui.panels.table import Column, Table
from grpotui.tui.pins import Pins
from grpotui.tui.widgets.drawn import Drawn
from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.panels.table import Cell

_COLUMNS: Final = (
    Column("", most=1),
    Column("name", least=16, most=44),
    Column("last", right=True, least=9),
    Column("min", 4, right=True, least=9),
    Column("max", 4, right=True, least=9),
    Column("mean", 5, right=True, least=9),
    Column("trend", 1, least=5),
    Column("values", 7, right=True),
    Column("course", 3, least=16, most=64, grows=True),
    Column("printed as", 6, most=36),
)


class BigChart(CurveChart, inherit_bindings=False):
    """One metric in all of the page; what leaves it is the page's matter."""

    BINDINGS: ClassVar = [
        Binding("left", "move(-1)", "earlier point", show=False),
        Binding("right", "move(1)", "later point", show=False),
    ]


class About(Drawn):
    """A line about the chosen metric."""

    DEFAULT_CSS = "About { height: 1; dock: bottom; }"

    def __init__(self) -> None:
        super().__init__()
        self._runs: list[Run] = []

    def show(self, runs: list[Run]) -> None:
        """What is said."""
        self._runs = runs
        self.redraw()

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """One row."""
        return sheet.rest([cells.padded([(" ", "blank"), *self._runs], sheet.wide)])


class Metrics(Listing):
    """A table of all of them; Enter shows the chosen one as a chart."""

    BINDINGS: ClassVar = [
        *MOVES,
        Binding("p", "pin", "pin"),
        Binding("enter", "chart", "chart"),
        Binding("slash", "filter", "filter"),
        Binding("z", "chart", "chart, and back", show=False),
        Binding("escape", "back", "back to the table; no filter", show=False),
        Binding("n", "hit(1)", "next that the filter leaves", show=False),
        Binding("N", "hit(-1)", "the one before", show=False),
        Binding("s", "sort", "sort by another column", show=False),
        Binding("R", "turn", "turn the order round", show=False),
        Binding("c", "copy", "copy name and value", show=False),
        Binding("x", "axis", "chart: step, time or tokens", show=False),
        Binding("y", "log", "chart: log scale", show=False),
        Binding("plus,equals_sign", "smooth(1)", "chart: smoother", key_display="+", show=False),
        Binding("minus", "smooth(-1)", "chart: less smooth", key_display="-", show=False),
    ]
    WRITES: ClassVar = frozenset({"pin"})
    DEFAULT_CSS = "Metrics BigChart { display: none; height: 1fr; }"

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed, Table("metrics", _COLUMNS))
        self._chart = BigChart(Spec(("",)), colour=0)
        self._line, self._about = FilterLine(), About()
        self._pins, self._pins_problem = _pins()
        self._all: list[Metric] = []
        self.shown: list[Metric] = []
        self._filter = ""
        self._known: object = None
        self._counted: object = None
        self._counting = False
        self._frame: Frame | None = None

    def compose(self) -> ComposeResult:
        """The table, or the chart in its place."""
        yield self.table
        yield self._chart
        yield self._about
        yield self._line

    def on_mount(self) -> None:
        """What is wrong with the pins is said once."""
        if self._pins_problem is not None:
            self.notify(self._pins_problem, severity="warning", markup=False, timeout=8)

    def show(self, frame: Frame) -> None:
        """The newest frame."""
        self._frame = frame
        known = (frame.document["framework"], len(self.feed.names()), len(self.feed.keys()))
        if known != self._known:
            self._known = known
            self._all = metrics_of(self.feed, self._all)
            self._arrange()
        if self._pins is not None:
            self._pins.reload()
        self._fill()
        self._count()
        if self._chart.display:
            self._draw_chart()

    def enter(self) -> None:
        """What is seen takes the keys."""
        (self._chart if self._chart.display else self).focus()

    @property
    def chosen(self) -> Metric | None:
        """The metric of the chosen row."""
        return self.shown[self.table.chosen] if self.table.chosen < len(self.shown) else None

    @property
    def is_counting(self) -> bool:
        """Whether values are still being counted."""
        return self._counting

    # The table

    def _arrange(self) -> None:
        """Filter and order; the chosen metric stays chosen where it still is there."""
        name = None if self.chosen is None else self.chosen.name
        self.shown = in_order(matching(self._all, self._filter), self.table.sorted_by, falling=self.table.falling)
        at = next((at for at, one in enumerate(self.shown) if one.name == name), 0)
        self.table.expect(len(self.shown), at)

    def _fill(self) -> None:
        pinned = self._pinned()
        self.table.note = [(f"/{cells.cut(self._filter, 30)}  ", "info")] if self._filter else []
        self.table.note += [
            (f"{len(self.shown)} of {len(self._all)}" if self._filter else str(len(self._all)), "label")
        ]
        self.table.fill(len(self.shown), lambda at: self._row(at, pinned), self._why_none())
        self._tell()

    def _row(self, at: int, pinned: Sequence[str]) -> tuple[Cell, ...]:
        metric = self.shown[at]
        first = at == self.table.seen.start or self.shown[at - 1].group != metric.group
        return metric.row(pinned=metric.name in pinned, first=first)

    def _why_none(self) -> tuple[str, ...]:
        if self._filter and self._all:
            return (f"No metric matches {self._filter!r}: Esc takes the filter away.",)
        if self._frame is not None and self._frame.reading is not None:
            return ("reading…",)
        return ("No metric was printed yet.", "They come with the first step that the framework logs.")

    def _tell(self) -> None:
        """The line about the chosen metric."""
        metric = self.chosen
        if metric is None:
            self._about.show([])
            return
        parts: list[Run] = [(metric.shown, "value")]
        if metric.key is not None and metric.key != metric.shown:
            parts.append((f"  printed as {metric.key}", "label"))
        elif metric.key is None and not metric.name.startswith("raw:"):
            parts.append(("  computed from several keys", "label"))
        if metric.tally.lost:
            parts.append((f"  ✖ {metric.tally.lost} of {metric.tally.count} not finite", "critical"))
        if metric.doubt is not None:
            parts.append((f"  ▲ unreliable: {metric.doubt}", "warning"))
        self._about.show([(cells.cut(text, 200), role) for text, role in parts])

    def on_table_chosen(self) -> None:
        """Another metric."""
        self._tell()
        self._count()
        if self._chart.display:
            self._draw_chart()

    def on_table_opened(self) -> None:
        """A click on the chosen one."""
        self.action_chart()

    def on_table_seen(self) -> None:
        """Rows that were not counted yet."""
        self._count()

    def on_table_headed(self, event: Table.Headed) -> None:
        """A click on the head of a column."""
        self._sort_by(event.column)

    # Counting, beside the screen: of a long run one metric takes 5 ms

    def _count(self) -> None:
        """Counts what is new of the rows that are seen; of all where their order depends on it."""
        if self._frame is None or self._counting or not self.is_attached:
            return
        sorted_by = self.table.sorted_by
        wanted = self.shown if sorted_by in SORTS else [self.shown[at] for at in self.table.seen]
        state = (self._frame.rows, self._frame.moment if self._frame.kind != "live" else None, self._known,
                 self._frame.document["metrics"], [one.name for one in wanted], self._filter)  # fmt: skip
        if wanted and state != self._counted:
            self._counted, self._counting = state, True
            self.run_worker(lambda: self._count_all(list(wanted)), thread=True, group="count", exit_on_error=False)

    def _count_all(self, wanted: Sequence[Metric]) -> None:
        worker = get_current_worker()
        for metric in wanted:
            while not worker.is_cancelled and metric.update(self.feed):
                pass
        if not worker.is_cancelled:  # else nobody is there to be told: the dashboard was left
            self.app.call_from_thread(self._is_counted)

    def _is_counted(self) -> None:
        self._counting = False
        if self.table.sorted_by in SORTS:
            self._arrange()
        self._fill()
        self._count()

    # Keys

    def action_filter(self) -> None:
        """A part of the names."""
        self._close_chart()
        self._line.open()

    def on_filter_line_written(self, event: FilterLine.Written) -> None:
        """With every key."""
        self._filter = event.text.strip()
        self._arrange()
        self._fill()
        self._count()

    def on_filter_line_left(self) -> None:
        """It is kept."""
        self.focus()

    def action_back(self) -> None:
        """From the chart to the table, then from the filter to all."""
        if self._chart.display:
            self._close_chart()
        elif self._filter or self._line.display:
            self._line.display = False
            self._line.value = ""
            self.focus()

    def action_hit(self, way: int) -> None:
        """Round and round."""
        if not self._filter:
            self.notify("No filter is set: / sets one.", markup=False, timeout=2)
        elif self.shown:
            self.table.move((self.table.chosen + way) % len(self.shown) - self.table.chosen)

    def action_sort(self) -> None:
        """By name, then by the columns with numbers, one after the other."""
        ways = [None, *SORTS]
        at = ways.index(self.table.sorted_by) if self.table.sorted_by in ways else 0
        self._sort_by(ways[(at + 1) % len(ways)], falling=True)

    def action_turn(self) -> None:
        """The other way round."""
        self._sort_by(self.table.sorted_by, falling=not self.table.falling)

    def _sort_by(self, column: int | None, *, falling: bool | None = None) -> None:
        """The same column again: the other way round."""
        column = column if column in SORTS else None
        if falling is None:
            falling = not self.table.falling if column == self.table.sorted_by else column is not None
        self.table.sorted_by, self.table.falling = column, falling and (column is not None or falling)
        self._arrange()
        self._fill()
        self._count()

    def action_copy(self) -> None:
        """`name value`."""
        metric = self.chosen
        if metric is not None:
            last = metric.tally.last
            self.copy(metric.shown if last is None else f"{metric.shown} {number(last)}")

    def action_pin(self) -> None:
        """To page 1, or away from it."""
        metric = self.chosen
        if metric is None or self._frame is None:
            return
        if self._pins is None:
            self.notify(f"{self._pins_problem}", severity="warning", markup=False, timeout=4)
            return
        pinned = self._pins.toggle(self._frame.document["framework"], metric.name)
        words = self._pins.problem or f"{metric.shown} {'is pinned to page 1' if pinned else 'is no longer pinned'}"
        self.notify(cells.cut(words, 300), markup=False, timeout=3)
        self._fill()

    def _pinned(self) -> Sequence[str]:
        if self._pins is None or self._frame is None:
            return ()
        return self._pins.pinned(self._frame.document["framework"])

    # The chart

    def action_chart(self) -> None:
        """The chosen metric in all of the page, and back."""
        if self._chart.display:
            self._close_chart()
        elif self.chosen is not None:
            self.table.display, self._chart.display = False, True
            self._chart.focus()
            self._draw_chart()

    def _close_chart(self) -> None:
        if self._chart.display:
            self.table.display, self._chart.display = True, False
            self.focus()

    def _draw_chart(self) -> None:
        metric = self.chosen
        if metric is not None and self._frame is not None:
            if self._chart.spec.metrics != (metric.name,):
                self._chart.spec = Spec((metric.name,))
                self._chart.crosshair = None
            self._chart.update(self.feed, self._frame, (metric.name,))

    def action_axis(self) -> None:
        """What the chart counts by; tokens only where they are told."""
        self._chart.axis = next_axis(self._chart.axis, self.feed.names())
        if self._chart.display:
            self._draw_chart()

    def action_log(self) -> None:
        """Its scale."""
        self._chart.log_y = not self._chart.log_y

    def action_smooth(self, way: int) -> None:
        """By the same steps as on page 1."""
        self._chart.smoothing = smoother(self._chart.smoothing, way)


def _pins() -> tuple[Pins | None, str | None]:
    try:
        pins = Pins.of(os.environ)
    except UsageError as error:
        return None, f"nothing can be pinned: {error}"
    return pins, pins.problem
