"""Metrics as columns: what a log printed, one row a record, one sparse series a key.

It owns the numbers and nothing else; keys are the framework's own. A metric that a record did not print
has no entry in that row: it is absent, never 0 and never NaN. A printed `nan` is a NaN value.

A value costs 8 bytes, and 4 more for its row once its series has a gap or somebody asked for its rows; a row costs
8 for its step. The same numbers as a list of dicts take about 100 bytes a value.

There are two ways in. `record` takes any pairs. `append_rows` takes rows of one `Shape`, packed as doubles, and
holds them until there are some, or somebody asks: 512 of them cost 10 ns a value, one by one 60.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import compress
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

UNKNOWN_STEP: Final = -1
"""The step of a record whose log does not tell it."""

MAX_SERIES: Final = 10_000
"""Keys beyond this are not kept: a garbled log must not open a series a word (verl prints 40 to 200)."""

_HELD_ROWS: Final = 512
"""Rows that wait to be turned into columns; 80 metrics make them 330 kB, which the cache still holds."""

_WAITING: Final = 4096
"""Values added to a series at once: an array that grows may copy itself, and does so at every 6 percent."""


class Restart(NamedTuple):
    """Where a log goes back: what it tells from `row` on happened again from `step` on.

    A run resumed from a checkpoint, started from the beginning, or a second run in the same file.
    """

    row: int
    step: int


class Series:
    """One metric: `values[i]` was printed in row `rows[i]`; rows ascend."""

    __slots__ = ("_first", "_gapped", "_pieces", "_values", "_waiting")

    def __init__(self) -> None:
        self._values: array[float] = array("d")
        self._pieces: list[array[float]] = []
        self._waiting = 0
        self._first = 0
        self._gapped: array[int] | None = None  # without a gap the first row tells all the others

    @property
    def values(self) -> array[float]:
        """All numbers."""
        if self._pieces:
            self._join()
        return self._values

    @property
    def rows(self) -> array[int]:
        """The row of each value."""
        if self._gapped is None:
            self._gapped = array("I", range(self._first, self._first + len(self.values)))
        return self._gapped

    def put(self, row: int, value: float) -> None:
        """Set the value of a row; the last one printed wins."""
        values = self.values
        if self._follows(row):
            values.append(value)
            return
        rows = self.rows
        if not rows or row > rows[-1]:
            rows.append(row)
            values.append(value)
            return
        at = bisect_left(rows, row)
        if rows[at] == row:
            values[at] = value
        else:
            rows.insert(at, row)
            values.insert(at, value)

    def extend(self, rows: Sequence[int], values: array[float]) -> None:
        """Add values of rows behind the last one; a `range` when there is no gap among them."""
        if self._gapped is not None or not isinstance(rows, range) or not self._follows(rows.start):
            self.rows.extend(rows)
        self._pieces.append(values)
        self._waiting += len(values)
        if self._waiting >= _WAITING:
            self._join()

    def at(self, row: int) -> float | None:
        """The value printed in a row, or None where that row did not print this metric."""
        values = self.values
        if self._gapped is None:
            at = row - self._first
            return values[at] if 0 <= at < len(values) else None
        at = bisect_left(self._gapped, row)
        return values[at] if at < len(self._gapped) and self._gapped[at] == row else None

    def _join(self) -> None:
        self._values.frombytes(b"".join(self._pieces))
        self._pieces.clear()
        self._waiting = 0

    def _follows(self, row: int) -> bool:
        """Whether this row comes right behind the last one, and there is still no gap."""
        if self._gapped is not None:
            return False
        size = len(self._values) + self._waiting
        if not size:
            self._first = row
        return row == self._first + size


class Shape:
    """The keys that records of one kind print. Made by `Columns.shape`, for that table only."""

    __slots__ = ("keys", "pack", "places")

    def __init__(self, places: Mapping[str, int]) -> None:
        self.keys = tuple(sorted(places, key=lambda key: places[key]))
        """The order that `pack` wants the values in."""
        self.places = frozenset(places.values())
        self.pack: Callable[..., bytes]
        """Step and values as one row of the table."""

    def widen(self, width: int) -> None:
        """Rows are as wide as the table: padding stands for what this kind of record does not print."""
        kinds = ("d" if place == 0 or place in self.places else "8x" for place in range(width))
        self.pack = Struct("".join(kinds)).pack


class Columns:
    """All records of one log.

    `steps[row]` is the step of a row, or `UNKNOWN_STEP`; `series[key]` holds the values of a metric.
    Rows stand in the order of their first printing. A step printed again (validation, several trainers) adds to its
    row, until `restart` tells that it happens a second time. Records of unknown step get a row each.
    """

    __slots__ = ("_held", "_loose", "_places", "_row_of", "_runs", "_series", "_shapes", "restarts", "steps", "top")

    def __init__(self) -> None:
        self.steps: array[int] = array("q")
        self.restarts: list[Restart] = []
        self.top = UNKNOWN_STEP
        """The highest step since the last restart: a higher one is new."""
        self._series: dict[str, Series] = {}
        self._row_of: dict[int, int] = {}
        self._loose: int | None = None  # rows from here on are not in `_row_of`, which costs 100 bytes a row
        self._places: dict[str, int] = {}  # 0 is the step
        self._shapes: list[Shape] = []
        self._held: list[bytes] = []
        self._runs: list[tuple[Shape, int]] = []

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def series(self) -> dict[str, Series]:
        """All metrics, in the order of their first printing."""
        self._settle()
        return self._series

    def record(self, step: int, pairs: Iterable[tuple[str, float]]) -> None:
        """Append one printed record, or merge it into the row of the same step."""
        known = self.series
        row = self._row(step)
        for key, value in pairs:
            series = known.get(key) or self._new_series(key)
            if series is not None:
                series.put(row, value)

    def shape(self, keys: Iterable[str]) -> Shape | None:
        """How to append records with these keys; None when that would waste memory: the table is too wide for them."""
        self._settle()
        wanted = tuple(dict.fromkeys(keys))
        fresh = [key for key in wanted if key not in self._places]
        if len(self._places) + len(fresh) > min(8 * len(wanted) + 64, MAX_SERIES):
            return None
        for key in fresh:
            if key not in self._series and self._new_series(key) is None:
                return None
            self._places[key] = len(self._places) + 1
        self._shapes.append(Shape({key: self._places[key] for key in wanted}))
        for shape in self._shapes:
            shape.widen(len(self._places) + 1)
        return self._shapes[-1]

    def append_rows(self, shape: Shape, steps: Sequence[int], rows: Sequence[bytes]) -> None:
        """Append packed rows. Their steps must ascend from above `top`."""
        if self._loose is None:
            self._loose = len(self.steps)
        self.steps.extend(steps)
        self.top = steps[-1]
        self._held += rows
        self._runs.append((shape, len(rows)))
        if len(self._held) >= _HELD_ROWS:
            self._settle()

    def restart(self, step: int) -> None:
        """What comes now happens again, from this step on: it gets new rows."""
        self.restarts.append(Restart(len(self.steps), step))
        self.top = UNKNOWN_STEP
        self._row_of.clear()
        self._loose = None

    def happens_again(self, step: int, key: str) -> bool:
        """Whether a record of an earlier step, of which this is the first metric, tells of a restart.

        A late addition does not: it brings metrics that the step's row lacks, as validation does.
        """
        row = self.find(step)
        if row is None:
            return not key.startswith("val")
        series = self.series.get(key)
        return series is not None and series.at(row) is not None

    def curve(self) -> array[int]:
        """The rows that still count: of a step that happened again, the last one."""
        rows: list[int] = []
        end, limit = len(self.steps), None
        for row, step in (*reversed(self.restarts), (0, 0)):
            rows += [at for at in reversed(range(row, end)) if limit is None or self.steps[at] < limit]
            end, limit = row, step if limit is None else min(step, limit)
        return array("I", reversed(rows))

    def find(self, step: int) -> int | None:
        """The row of a step since the last restart, or None."""
        return self._known().get(step)

    def last(self, key: str) -> float | None:
        """The newest value of a metric, or None when the log never printed it."""
        series = self.series.get(key)
        return series.values[-1] if series is not None and series.values else None

    def row(self, index: int) -> dict[str, float]:
        """The metrics of one row; a negative index counts from the end. Raises IndexError."""
        row = range(len(self.steps))[index]
        found = ((key, series.at(row)) for key, series in self.series.items())
        return {key: value for key, value in found if value is not None}

    def _row(self, step: int) -> int:
        new = len(self.steps)
        row = new if step == UNKNOWN_STEP else self._known().setdefault(step, new)
        if row == new:
            self.steps.append(step)
            self.top = max(step, self.top)
        return row

    def _known(self) -> dict[int, int]:
        if self._loose is not None:
            self._row_of.update((self.steps[row], row) for row in range(self._loose, len(self.steps)))
            self._loose = None
        return self._row_of

    def _new_series(self, key: str) -> Series | None:
        if len(self._series) >= MAX_SERIES:
            return None
        return self._series.setdefault(key, Series())

    def _settle(self) -> None:
        """Move the held rows into their series: a strided slice for each, so that the loop over values is C's."""
        if not self._held:
            return
        cells, runs = array("d", b"".join(self._held)), self._runs
        rows = range(len(self.steps) - len(self._held), len(self.steps))
        self._held, self._runs = [], []
        width = len(self._places) + 1
        shapes = {shape for shape, _ in runs}
        always = frozenset.intersection(*(shape.places for shape in shapes))
        sometimes = frozenset[int]().union(*(shape.places for shape in shapes)) - always
        for key, place in self._places.items():
            if place in always:
                self._series[key].extend(rows, cells[place::width])
            elif place in sometimes:
                there = b"".join((b"\1" if place in shape.places else b"\0") * count for shape, count in runs)
                values = array("d", compress(cells[place::width], there))
                self._series[key].extend(array("I", compress(rows, there)), values)
