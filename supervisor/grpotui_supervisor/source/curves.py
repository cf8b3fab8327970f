"""Metrics as curves: what a chart asks for, by canonical name or by the framework's own key, and only what is new.

Of a run that began again, the rows that were done twice are in no curve: the later ones count. A name that one of the
framework's keys stands for alone is a slice of that column; one that is derived from several is computed row by row.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from grpotui_supervisor.logs.catalog import EPOCH_TAG, canonical, unreliable
from grpotui_supervisor.logs.columns import Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui_supervisor.logs.columns import Columns
    from grpotui_supervisor.source.metrics import Metrics

Axis = Literal["step", "time", "tokens", "none"]
"""`none`: x is not asked for, and empty."""

TOKENS: Final = "tokens_total"
_UNKNOWN: Final = float("nan")
RAW: Final = "raw:"
"""What a key of the framework's own begins with, where it is asked for beside the canonical names."""
_ROWS_AT_ONCE: Final = 500
"""Of a name that is computed row by row: 40 ms, in which nothing else is read."""


class Curve(NamedTuple):
    """A metric from index `begin` on.

    As long as `version` stays, what was told before holds; once it differs, all of the curve is told again from 0.
    """

    version: int
    begin: int
    x: array[float]
    """By the axis that was asked for; NaN where that is not known. A step that the log does not tell is its row + 1."""
    values: array[float]
    more: bool
    """There is more that was not computed yet: ask again."""


class Curves:
    """All metrics of a source, as of its last update."""

    def __init__(self, metrics: Metrics, *, after: Curves | None = None) -> None:
        """`after`: those whose place these take, so that no version of theirs is taken for one of these."""
        self._metrics = metrics
        self._columns: Columns | None = None
        self._known: tuple[object, ...] = ()
        self._direct: dict[str, tuple[str, float]] = {}
        self._names: list[str] = []
        self._version: int = 1 if after is None else after._version + 1  # noqa: SLF001  (its own kind)
        self._restarts = 0
        self._last: dict[str, tuple[int, int, float]] = {}
        self._computed: dict[str, tuple[Series, int]] = {}
        self._counting: array[int] | None = None

    def renew(self) -> None:
        """Whoever drew anything draws it again: the source was set back."""
        self._version += 1
        self._last.clear()
        self._computed.clear()

    def names(self) -> list[str]:
        """Canonical names of what was printed so far."""
        self._look()
        return [*self._names, *(name for name in self._metrics.engines.single() if name not in self._names)]

    def keys(self) -> list[str]:
        """The framework's own keys, in the order of their first printing."""
        self._look()
        return [] if self._columns is None else list(self._columns.series)

    def raw_name(self, name: str) -> str | None:
        """The framework's key for a canonical name; None where none of them stands for it alone."""
        self._look()
        return self._direct[name][0] if name in self._direct else None

    def doubts(self) -> dict[str, str]:
        """Canonical metrics that are known to be wrong in this framework, with the reason."""
        framework = self._metrics.framework
        return {} if framework is None else unreliable(framework, self.keys(), None)

    def curve(
        self, name: str, begin: int = 0, version: int = 0, *, axis: Axis = "step", rows: int | None = None
    ) -> Curve:
        """What of a metric is new since `version`, from `begin` on; `rows`: only those of the first so many rows.

        `name` is canonical, or `raw:` and one of the framework's own keys.
        """
        self._look()
        series, factor, more = self._series(name)
        if series is None:
            return Curve(self._version, 0, array("d"), array("d"), more=False)
        self._check(name, series)
        begin = begin if version == self._version else 0
        found, values = self._from(series, begin, rows)
        if factor != 1.0:
            values = array("d", (value * factor for value in values))
        return Curve(self._version, begin, self._x(found, axis), values, more)

    def _look(self) -> None:
        """Whether the columns are others than at the last look, or a framework, a key or a restart has come."""
        columns, framework = self._metrics.columns, self._metrics.framework
        restarts = 0 if columns is None else len(columns.restarts)
        if columns is not self._columns or restarts != self._restarts:
            self._columns, self._restarts, self._known = columns, restarts, ()
            self._counting = columns.curve() if columns is not None and restarts else None
            self.renew()
        known = (framework, 0 if columns is None else len(columns.series))
        if known != self._known:
            self._known = known
            self._map(framework, [] if columns is None else list(columns.series))

    def _map(self, framework: str | None, keys: list[str]) -> None:
        """Which key stands for a name alone: the only one that gives it, and as much as all of them together do."""
        before, self._direct, self._names = self._direct, {}, []
        if framework is not None:
            whole = _canonical(framework, keys)
            alone: dict[str, list[tuple[str, float]]] = {}
            for key in keys:
                for name, value in _canonical(framework, [key], epoch=EPOCH_TAG in keys).items():
                    alone.setdefault(name, []).append((key, value))
            self._names = list(whole)
            self._direct = {name: alone[name][0] for name, value in whole.items() if _is_one(alone.get(name), value)}
        if any(self._direct.get(name) != pair for name, pair in before.items()):
            self.renew()

    def _series(self, name: str) -> tuple[Series | None, float, bool]:
        """The values of a name, what they are multiplied with, and whether there are more."""
        if self._columns is None or name.startswith(RAW):
            series = None if self._columns is None else self._columns.series.get(name.removeprefix(RAW))
            return series, 1.0, False
        if name in self._direct:
            key, factor = self._direct[name]
            return self._columns.series[key], factor, False
        if name not in self.names():
            return None, 1.0, False
        series, done = self._computed.get(name, (Series(), 0))
        end = min(self._metrics.steps, done + _ROWS_AT_ONCE)
        for row in range(done, end):
            value = self._metrics.metrics(row).get(name)
            if value is not None:
                series.put(row, value)
        self._computed[name] = (series, end)
        return series, 1.0, end < self._metrics.steps

    def _check(self, name: str, series: Series) -> None:
        """A value that came late into an earlier row, or took another's place, makes the curve anew."""
        count, row, value = self._last.get(name, (0, 0, 0.0))
        values, rows = series.values, series.rows
        if count and (rows[count - 1] != row or _differ(values[count - 1], value)):
            self._version += 1
            self._last.clear()
        if len(values):
            self._last[name] = (len(values), rows[-1], values[-1])

    def _from(self, series: Series, begin: int, limit: int | None) -> tuple[array[int], array[float]]:
        """Rows and values from an index of the curve on."""
        rows, values = series.rows, series.values
        end = len(rows) if limit is None else bisect_left(rows, limit)
        if self._counting is None or self._columns is None:
            return rows[begin:end], values[begin:end]
        counting, told = set(self._counting), self._columns.restarts[-1].row
        kept = [at for at in range(end) if rows[at] >= told or rows[at] in counting][begin:]
        return array("I", (rows[at] for at in kept)), array("d", (values[at] for at in kept))

    def _x(self, rows: Sequence[int], axis: Axis) -> array[float]:
        columns = self._columns
        if columns is None or axis == "none":
            return array("d")
        if axis == "step":
            steps = _at(columns.steps, rows)
            if min(steps, default=0) >= 0:
                return array("d", steps)
            return array("d", (step if step >= 0 else row + 1 for step, row in zip(steps, rows, strict=True)))
        if axis == "time":
            moments = _at(self._metrics.moments, rows)
            return array("d", [moment / 1e9 if moment >= 0 else _UNKNOWN for moment in moments])
        series = self._series(TOKENS)[0]
        found = (None if series is None else series.at(row) for row in rows)
        return array("d", (_UNKNOWN if value is None else value for value in found))


def _at(values: Sequence[int], rows: Sequence[int]) -> Sequence[int]:
    """Those of rows in ascending order; most metrics are in every row, and their values one slice."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return values[rows[0] : rows[-1] + 1]
    return [values[row] for row in rows]


def _canonical(framework: str, keys: Sequence[str], *, epoch: bool = False) -> dict[str, float]:
    """What of 1 in each key becomes; `epoch`: these are the tags of an event file, of which each has its epoch."""
    found = canonical(framework, {**dict.fromkeys(keys, 1.0), **({EPOCH_TAG: 1.0} if epoch else {})})
    if epoch and EPOCH_TAG not in keys:
        found.pop("epoch", None)
    return found


def _is_one(found: list[tuple[str, float]] | None, value: float) -> bool:
    return found is not None and len(found) == 1 and found[0][1] == value


def _differ(one: float, other: float) -> bool:
    return one != other and not (one != one and other != other)  # noqa: PLR0124  (NaN is the same NaN)
