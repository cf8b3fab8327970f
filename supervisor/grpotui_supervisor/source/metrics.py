"""The metrics of a log, by their canonical names, behind whatever reader the framework needs."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.catalog import canonical

if TYPE_CHECKING:
    from grpotui_supervisor.logs.columns import Columns
    from grpotui_supervisor.logs.reader import Reader


class Metrics:
    """Rows of metrics as far as the reader was fed; what the framework did not print is absent."""

    def __init__(self, reader: Reader | None) -> None:
        self.reader = reader

    @property
    def framework(self) -> str | None:
        """The framework of the log; None while it is not recognised."""
        name = self.reader.framework if self.reader is not None else "auto"
        return None if name == "auto" else name

    @property
    def columns(self) -> Columns | None:
        """The rows; None for a framework without a reader."""
        return None if self.reader is None else self.reader.columns

    @property
    def step(self) -> int | None:
        """The last step that is known to be done."""
        return None if self.reader is None else self.reader.step

    @property
    def steps_total(self) -> int | None:
        """How many steps the run will make, where that is told."""
        return None if self.reader is None else self.reader.steps_total

    @property
    def training_complete(self) -> bool:
        """Whether the log says that training ran to its end."""
        return self.reader is not None and self.reader.training_complete

    @property
    def steps(self) -> int:
        """How many rows of metrics there are."""
        return 0 if self.columns is None else len(self.columns)

    def step_of(self, row: int) -> int | None:
        """The step of a row; None where the log does not tell."""
        if self.columns is None:
            return None
        step = self.columns.steps[row]
        return None if step < 0 else step

    def raw(self, row: int) -> dict[str, float]:
        """A row by the framework's own keys."""
        return {} if self.columns is None else self.columns.row(row)

    def metrics(self, row: int) -> dict[str, float]:
        """A row by canonical names."""
        return {} if self.framework is None else canonical(self.framework, self.raw(row))

    def latest_metrics(self, rows: int | None = None) -> dict[str, float]:
        """Each canonical metric at the last of the first `rows` rows that has it.

        Some trainers print a metric on some steps only, so the last row alone would lose it.
        """
        columns, last = self.columns, {}
        if columns is None or self.framework is None:
            return {}
        for key, series in columns.series.items():
            count = len(series.rows) if rows is None else bisect_left(series.rows, rows)
            if count:
                last[key] = series.values[count - 1]
        return canonical(self.framework, last)
