"""Columns whose newest row may get its step after it was printed.

A trainer of the Hugging Face family prints metrics first and tells the step afterwards, by its progress bar or by
the title of a table; in a run with two streams the bar may even be read long after the metrics.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from grpotui_supervisor.logs.columns import Shape

SHAPES_LIMIT: Final = 32
"""Kinds of records that are written the quick way; TRL prints two or three, a garbled log any number."""

_Packer = tuple["Shape", "Callable[[Mapping[str, float]], tuple[float, ...]]"]


class LateColumns(Columns):
    """`Columns` in which the newest row can be taken back, and counted steps be renumbered."""

    __slots__ = ("_lent_at", "_packers")

    def __init__(self) -> None:
        super().__init__()
        self._lent_at = UNKNOWN_STEP
        self._packers: dict[tuple[str, ...], _Packer | None] = {}

    def put(self, step: int | None, metrics: Mapping[str, float]) -> None:
        """A row, or a part of the row of that step; a step below the last one happens again."""
        if step is None:
            self.record(UNKNOWN_STEP, metrics.items())
            return
        if step > self.top:
            packer = self._packer(tuple(metrics))
            if packer is not None:
                shape, values = packer
                self.append_rows(shape, (step,), (shape.pack(step, *values(metrics)),))
                return
        elif step < self.top:
            self.restart(step)
        self.record(step, metrics.items())

    def lend(self, step: int | None, metrics: Mapping[str, float]) -> None:
        """A new row until its step is known for sure; one that would not be new is not told for now."""
        self._lent_at = self.top
        self.record(UNKNOWN_STEP if step is None or step <= self.top else step, metrics.items())

    def take_back(self, metrics: Mapping[str, float]) -> None:
        """The row that was lent, the newest one, goes as if it had never been there."""
        known, series = self._known(), self.series
        step, row = self.steps.pop(), len(self.steps)
        if known.get(step) == row:
            del known[step]
        self.top = self._lent_at
        for key in metrics:
            one = series.get(key)
            if one is not None and one.rows and one.rows[-1] == row:
                one.rows.pop()
                one.values.pop()

    def renumber(self, steps: Iterable[tuple[int, int]]) -> None:
        """Gives rows (index, step) other steps; all that have one are given, in ascending order."""
        known = self._known()
        known.clear()
        for row, step in steps:
            self.steps[row] = self.top = step
            known[step] = row

    def _packer(self, keys: tuple[str, ...]) -> _Packer | None:
        """What writes rows with these keys the quick way; None when they are too few or too varied for it."""
        if keys not in self._packers:
            if len(self._packers) >= SHAPES_LIMIT or len(keys) < 2:
                return None
            shape = self.shape(keys)
            self._packers[keys] = None if shape is None else (shape, itemgetter(*shape.keys))
        return self._packers[keys]
