"""The metrics of a run as rows of a table: which there are, in which order, which of them a filter leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from grpotui.text import number
from grpotui.tui.tally import Tally
from grpotui_supervisor.source.curves import RAW

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.panels.table import Cell


@dataclass(slots=True, eq=False)
class Metric:
    """A metric: `name` is what the feed knows it by. Its tally is replaced, never changed: any thread may read it."""

    name: str
    key: str | None
    """The framework's own key, of a canonical name that stands for it alone."""
    doubt: str | None = None
    """Why it is known to be wrong."""
    tally: Tally = field(default_factory=Tally)
    _made: tuple[tuple[Tally, bool, bool], tuple[Cell, ...]] | None = None

    @property
    def shown(self) -> str:
        """Its name for people."""
        return self.name.removeprefix(RAW)

    @property
    def group(self) -> str:
        """What comes before the first slash."""
        return self.shown.partition("/")[0]

    def update(self, feed: Feed) -> bool:
        """Counts what is new; returns whether there is more to ask for."""
        tally = self.tally.copy()
        found = feed.curve(self.name, tally.count, tally.version, "none")
        if found.version != tally.version or found.begin != tally.count:
            tally.renew()
        tally.version = found.version
        tally.take(found.values)
        self.tally = tally
        return found.more

    def row(self, *, pinned: bool, first: bool) -> tuple[Cell, ...]:
        """Its cells, made once for each tally; `first` of its group, whose name is dim in the others."""
        seen = (self.tally, pinned, first)
        if self._made is None or self._made[0] != seen:
            self._made = (seen, _row(self, pinned=pinned, first=first))
        return self._made[1]


def metrics_of(feed: Feed, known: Collection[Metric]) -> list[Metric]:
    """Canonical ones first, then the framework's keys that no canonical name stands for; each group together.

    What is known of them already is kept.
    """
    names, doubts = feed.names(), feed.doubts()
    printed, every = {name: feed.raw_name(name) for name in names}, feed.keys()
    covered = {key for key in printed.values() if key is not None}
    others = [RAW + key for key in every if key not in covered]
    before = {metric.name: metric.tally for metric in known}
    found = [Metric(name, printed.get(name), doubts.get(name), before.get(name, Tally())) for name in (*names, *others)]
    return sorted(found, key=lambda one: (one.name.startswith(RAW), one.group, one.shown))


def matching(metrics: Sequence[Metric], text: str) -> list[Metric]:
    """Those whose name or key holds the text, in any case; `!` in front turns it round."""
    text = text.strip().casefold()
    inverted, text = text.startswith("!"), text.removeprefix("!").strip()
    if not text:
        return list(metrics)
    return [one for one in metrics if (text in f"{one.shown}\n{one.key or ''}".casefold()) != inverted]


_LAST, _LOW, _HIGH, _MEAN, _TREND, _COUNT = 2, 3, 4, 5, 6, 7
SORTS: Final[dict[int, Callable[[Metric], float | None]]] = {
    _LAST: lambda one: one.tally.last,
    _LOW: lambda one: one.tally.low,
    _HIGH: lambda one: one.tally.high,
    _MEAN: lambda one: one.tally.mean,
    _TREND: lambda one: one.tally.trend(),
    _COUNT: lambda one: float(one.tally.count),
}
"""What the columns of the table are sorted by; the others only in the order of the names."""


def in_order(metrics: list[Metric], column: int | None, *, falling: bool) -> list[Metric]:
    """By the values of a column; what has none comes last either way."""
    by = SORTS.get(column) if column is not None else None
    if by is None:
        return metrics[::-1] if falling else metrics

    def place(one: Metric) -> tuple[bool, float]:
        value = by(one)
        if value is None or value != value:  # noqa: PLR0124  (NaN)
            return True, inf
        return False, -value if falling else value

    return sorted(metrics, key=place)


def _row(metric: Metric, *, pinned: bool, first: bool) -> tuple[Cell, ...]:
    tally = metric.tally
    trend = tally.trend()
    return (
        ("◆" if pinned else "", "checkpoint"),
        _name(metric, first=first),
        (_number(tally.last), "critical" if tally.last is not None and abs(tally.last) == inf else "value"),
        (_number(tally.low), "label"),
        (_number(tally.high), "label"),
        (_number(tally.mean), "label"),
        lambda glyphs, _: [(" " if trend is None else glyphs.trends[trend + 1], "info")],
        (str(tally.count) if tally.count else "", "label"),
        tally.course,
        (metric.key or ("" if metric.name.startswith(RAW) else "several keys"), "muted"),
    )


def _name(metric: Metric, *, first: bool) -> list[Run]:
    head, slash, rest = metric.shown.partition("/")
    runs: list[Run] = [(head + slash, "label" if first else "frame"), (rest, "title")] if slash else [(head, "title")]
    return [*runs, (" ▲", "warning")] if metric.doubt is not None else runs


def _number(value: float | None) -> str:
    return "" if value is None else number(value)
