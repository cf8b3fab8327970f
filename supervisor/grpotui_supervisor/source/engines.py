"""The rollout engines' own numbers over time, by engine: one number of several engines is never mixed."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from grpotui_supervisor.logs.columns import Series
from grpotui_supervisor.logs.engine import EngineReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.logs.engine_fast import Statistics

MAX_ENGINES = 512
"""Names beyond these are not kept: a garbled log must not open an engine a line."""
NAMELESS = "engine"
"""An engine whose lines, and whose log, name nobody."""


class Observation(NamedTuple):
    """What one line said."""

    m: int | None
    """When the log grew by it, in monotonic nanoseconds; None for a bare log."""
    step: int | None
    """The last step that was done then; None before the first."""
    values: dict[str, float]
    """By canonical name."""


class Latest(NamedTuple):
    """The newest of each number of one engine."""

    m: int | None
    step: int | None
    values: dict[str, float]


class Engines:
    """All engine lines of a run, in the order in which they were read."""

    def __init__(self) -> None:
        self.latest: dict[str, Latest] = {}
        """By engine, in the order of their first line."""
        self._reader = EngineReader()
        self._moments = array("q")
        self._steps = array("q")
        self._owners: dict[str, set[str]] = {}
        self._rows: dict[str, Series] = {}

    def read(self, line: str, origin: str, *, m: int | None, step: int | None) -> None:
        """Read one whole line of the log of `origin` (a member's name, empty for the one with the metrics)."""
        values = self._reader.read(line, origin)
        if values:
            self._note(values, m, step)

    def add(self, line: Statistics, origin: str, *, m: int | None, step: int | None) -> None:
        """As `read`, of a line that was read the fast way."""
        self._note(self._reader.add(line, origin), m, step)

    def _note(self, values: dict[str, float], m: int | None, step: int | None) -> None:
        self._moments.append(-1 if m is None else m)
        self._steps.append(-1 if step is None else step)
        names = self._reader.engines
        name = names[-1] = names[-1] or NAMELESS
        before = self.latest.get(name)
        if before is not None:
            same = values.keys() == before.values.keys()
            self.latest[name] = Latest(m, step, values if same else before.values | values)
            if same or values.keys() <= before.values.keys():
                return
        elif len(self.latest) < MAX_ENGINES:
            self.latest[name] = Latest(m, step, values)
        else:
            return
        for metric in values:
            self._owners.setdefault(metric, set()).add(name)

    def single(self) -> dict[str, float]:
        """The newest of each number that one engine alone has told; those of several are in `latest` only."""
        return {
            metric: self.latest[next(iter(owners))].values[metric]
            for metric, owners in self._owners.items()
            if len(owners) == 1
        }

    def note_row(self, row: int) -> None:
        """A record of the trainer is new: what `single` tells now belongs to it."""
        for metric, value in self.single().items():
            self._rows.setdefault(metric, Series()).put(row, value)

    def at(self, row: int) -> dict[str, float]:
        """What `single` told when a record of the trainer came."""
        return {metric: value for metric, series in self._rows.items() if (value := series.at(row)) is not None}

    def until(self, moment: int) -> dict[str, float]:
        """What `single` tells, of the lines that were there at a moment (monotonic nanoseconds)."""
        lines, found = bisect_right(self._moments, moment), {}
        for metric in self.single():
            series = self._reader.columns.series[metric]
            count = bisect_left(series.rows, lines)
            if count:
                found[metric] = series.values[count - 1]
        return found

    def series(self, engine: str) -> Iterator[Observation]:
        """Every line of one engine."""
        for row, name in enumerate(self._reader.engines):
            if name == engine:
                m, step = self._moments[row], self._steps[row]
                values = self._reader.columns.row(row)
                yield Observation(None if m < 0 else m, None if step < 0 else step, values)
