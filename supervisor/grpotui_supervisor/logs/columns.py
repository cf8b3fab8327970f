"""Metrics as columns: what a log printed, one row a record, one sparse series a key.

It owns the numbers and nothing else; keys are the framework's own. A metric that a record did not print
has no entry in that row: it is absent, never 0 and never NaN. A printed `nan` is a NaN value.

A value costs 12 bytes (8 for the number, 4 for its row), a row 8 more for its step and about 100 for the
index by step. The same numbers as a list of dicts take about 100 bytes a value.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN_STEP: Final = -1
"""The step of a record whose log does not tell it."""

MAX_SERIES: Final = 10_000
"""Keys beyond this are not kept: a garbled log must not open a series a word (verl prints 40 to 200)."""


class Series:
    """One metric: `values[i]` was printed in row `rows[i]`; rows ascend."""

    __slots__ = ("rows", "values")

    def __init__(self) -> None:
        self.rows: array[int] = array("I")
        self.values: array[float] = array("d")

    def put(self, row: int, value: float) -> None:
        """Set the value of a row; the last one printed wins."""
        if not self.rows or row > self.rows[-1]:
            self.rows.append(row)
            self.values.append(value)
            return
        at = bisect_left(self.rows, row)
        if self.rows[at] == row:
            self.values[at] = value
        else:
            self.rows.insert(at, row)
            self.values.insert(at, value)

    def at(self, row: int) -> float | None:
        """The value printed in a row, or None where that row did not print this metric."""
        at = bisect_left(self.rows, row)
        return self.values[at] if at < len(self.rows) and self.rows[at] == row else None


class Columns:
    """All records of one log.

    `steps[row]` is the step of a row, or `UNKNOWN_STEP`; `series[key]` holds the values of a metric.
    Rows stand in the order of their first printing. A step printed again (validation, a resumed run,
    several trainers) adds to its row; records of unknown step get a row each.
    """

    __slots__ = ("_row_of", "series", "steps")

    def __init__(self) -> None:
        self.steps: array[int] = array("q")
        self.series: dict[str, Series] = {}
        self._row_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.steps)

    def record(self, step: int, pairs: Iterable[tuple[str, float]]) -> None:
        """Append one printed record, or merge it into the row of the same step."""
        row = self._row(step)
        for key, value in pairs:
            series = self.series.get(key)
            if series is None:
                if len(self.series) >= MAX_SERIES:
                    continue
                series = self.series[key] = Series()
            series.put(row, value)

    def last(self, key: str) -> float | None:
        """The newest value of a metric, or None when the log never printed it."""
        series = self.series.get(key)
        return None if series is None else series.values[-1]

    def row(self, index: int) -> dict[str, float]:
        """The metrics of one row; a negative index counts from the end. Raises IndexError."""
        row = range(len(self.steps))[index]
        found = ((key, series.at(row)) for key, series in self.series.items())
        return {key: value for key, value in found if value is not None}

    def _row(self, step: int) -> int:
        new = len(self.steps)
        row = new if step == UNKNOWN_STEP else self._row_of.setdefault(step, new)
        if row == new:
            self.steps.append(step)
        return row
