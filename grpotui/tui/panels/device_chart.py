"""A device's memory over time by its three readings, and below it which phase the trainer was in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from grpotui.text import member_name
from grpotui.tui import cells
from grpotui.tui.cells import Sheet
from grpotui.tui.chart_parts import Chart, Line, Mark, Threshold
from grpotui.tui.glyphs import PARTS
from grpotui.tui.panels.members import sign
from grpotui.tui.panels.points import MemoryPoints
from grpotui.tui.widgets.chart import LineChart
from grpotui_supervisor.source.device_curves import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.glyphs import Glyphs
    from grpotui.tui.layout import Layout
    from grpotui_supervisor.source.device_curves import PhaseSpan

_GIB: Final = 2**30
_MOST: Final = 2000
"""Phases that are looked at for one picture."""
_LEGEND_FROM: Final = 12
SPANS: Final = (900.0, 120.0, None)
"""Seconds that are shown; None: all of them."""
_FURTHER: Final = ("rollout", "validate", "save")
PLACES: Final = {word: at for at, word in enumerate((*PARTS, *_FURTHER))} | {"evaluate": PARTS.index("other") + 2}
"""Glyph and colour of a phase, as those of the parts of a step."""


class DeviceChart(LineChart):
    """One device; the phases have the chart's columns."""

    def __init__(self, feed: Feed) -> None:
        super().__init__(colour=0)
        self._feed = feed
        self._gpu: str | None = None
        self._points: list[MemoryPoints] = []
        self._now = 0.0
        self._span = 0
        self._seen: object = None
        self.set_reactive(LineChart.axis, "time")
        self.set_reactive(LineChart.held, True)  # a reading is recorded when it changes

    def update(self, gpu: Mapping[str, Any], frame: Frame) -> None:
        """What is new of it."""
        anew = gpu["gpu"] != self._gpu
        if anew:
            self._gpu = gpu["gpu"]
            self._points = [MemoryPoints(gpu["gpu"], reading) for reading in get_args(Reading)]
        changed = [points.update(self._feed)[0] for points in self._points]
        self._now = (frame.document.get("as_of") or {}).get("offset_s") or 0.0
        seen = (self._now, gpu["unavailable"], frame.document["phase"])
        if any(changed) or anew or seen != self._seen:
            self._seen = seen
            self.show(self._chart_of(gpu, frame))
        if anew:
            self._look_back()

    def next_span(self) -> str:
        """Shows another stretch of time; returns which, in words."""
        self._span = (self._span + 1) % len(SPANS)
        self._look_back()
        span = SPANS[self._span]
        return "all of the time" if span is None else f"the last {span / 60:.0f} minutes"

    def _look_back(self) -> None:
        span, last = SPANS[self._span], max((points.x[-1] for points in self._points if len(points.x)), default=0.0)
        self.crosshair = None
        self.window = None if span is None or last <= span else (last - span, last)

    def _chart_of(self, gpu: Mapping[str, Any], frame: Frame) -> Chart:
        lines = tuple(Line(one.metric, one.series, len(one.x)) for one in self._points if len(one.x))
        limits = [("idle", gpu["baseline_bytes"]), ("all", gpu["total_bytes"])]
        thresholds = tuple(Threshold(name, value / _GIB) for name, value in limits if value)
        empty = f"no reading: {gpu['unavailable']}" if gpu["unavailable"] else "no reading yet"
        return Chart(f"memory of GPU {self._gpu}, GiB", lines, thresholds, tuple(_marks(gpu, frame)), "", empty)

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """The chart, the phases, and what their signs mean where there is room for it."""
        glyphs, wide, high = sheet
        below = 0 if high < 5 else 1 if high < _LEGEND_FROM else 2
        rows = super().picture(Sheet(glyphs, wide, high - below))
        layout = self._plotter.layout
        if not below:
            return rows
        return [*rows, *self._phases(layout, glyphs, wide, below)]

    def _phases(self, layout: Layout | None, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        if layout is None:
            return Sheet(glyphs, wide, high).rest([])
        begin, end = layout.grid.border(0), min(self._now, layout.grid.border(layout.grid.columns))
        found = self._feed.phases(begin, end, _MOST)
        if not found:
            why = "too many to draw: ) shows less of the time" if found is None else "nobody tells them here"
            return Sheet(glyphs, wide, high).rest([cells.padded([(f" phases: {why}", "label")], wide)])
        count = wide - 2 - layout.gutter
        each = layout.grid.width * glyphs.across
        strip = [_cell(glyphs, phase) for phase in prevailing(found, begin, each, count)]
        head: Run = (f"{'phase':>{layout.gutter}} ", "label")
        there = list(dict.fromkeys(span.phase for span in found))
        words = cells.spaced([[_cell(glyphs, phase), (f" {cells.cut(phase, 16)}", "label")] for phase in sorted(there)])
        line = cells.padded([head, *cells.merged(strip)], wide)
        return [line, cells.padded([(" " * (layout.gutter + 1), "blank"), *words], wide)][:high]


def prevailing(spans: Sequence[PhaseSpan], begin: float, each: float, count: int) -> list[str | None]:
    """The phase that takes most of each of `count` cells of `each` seconds; None where nobody tells of any."""
    shares: list[dict[str, float]] = [{} for _ in range(count)]
    for phase, since, until in spans:
        first, last = int(max(0.0, since - begin) / each), int(max(0.0, until - begin) / each)
        for at in range(first, min(last + 1, count)):
            share = min(until, begin + (at + 1) * each) - max(since, begin + at * each)
            if share > 0:
                shares[at][phase] = shares[at].get(phase, 0.0) + share
    return [max(share, key=lambda phase: share[phase]) if share else None for share in shares]


def _cell(glyphs: Glyphs, phase: str | None) -> Run:
    if phase is None:
        return " ", "blank"
    place = PLACES.get(phase, PARTS.index("other"))
    return glyphs.bars[place], f"part{place}"


def _marks(gpu: Mapping[str, Any], frame: Frame) -> Iterator[Mark]:
    """Deaths of members and faults of the device, at their times."""
    document = frame.document
    for member in document["ranks"]:
        if member["ended_offset_s"] is not None and sign(member)[1] == "critical":
            yield Mark("death", member["ended_offset_s"], None, "critical", member_name(member))
    now = (document.get("as_of") or {}).get("offset_s")
    for one in gpu["xids"]:
        if now is not None and one["age_s"] is not None:
            yield Mark("finding", now - one["age_s"], None, "critical", f"Xid {one['xid']}")
