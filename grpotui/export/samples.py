"""Samples of a source as files: one function a format, one sample a line or row, in bounded memory.

The text is whatever a model wrote. JSON holds it in ASCII with escapes, so that it harms no terminal either.
"""

from __future__ import annotations

import csv
import io
import json
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from grpotui.export.tables import arrow
from grpotui_supervisor.samples.sample import Shares
from grpotui_supervisor.source.status import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grpotui_supervisor.samples.sample import Sample

BATCH: Final = 256
"""Rows that Parquet is given at once."""
COLUMNS: Final = ("step", "group", "prompt", "answer", "rewards", "advantage", "length", "ended", "source")


def record(sample: Sample) -> dict[str, Any]:
    """One line of the JSON output, as in `samples.schema.json`."""
    found = {name: getattr(sample, name) for name in COLUMNS}
    found["rewards"] = {name: number(value) for name, value in sample.rewards.items()}
    found["advantage"] = None if sample.advantage is None else number(sample.advantage)
    return found


def jsonl(samples: Iterable[Sample], out: BinaryIO) -> None:
    """One object a sample."""
    out.writelines(json.dumps(record(sample)).replace("\x7f", "\\u007f").encode() + b"\n" for sample in samples)


def as_csv(samples: Iterable[Sample], out: BinaryIO) -> None:
    """A column for each part of a sample; its rewards are a JSON object in one cell, absent is an empty cell."""
    text = io.TextIOWrapper(out, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for sample in samples:
        cells = record(sample)
        cells["rewards"] = json.dumps(cells["rewards"])
        writer.writerow(["" if cells[name] is None else cells[name] for name in COLUMNS])
    text.detach()


def parquet(samples: Iterable[Sample], out: BinaryIO) -> None:
    """The same columns; the rewards are a map from name to number. Needs pyarrow.

    Raises:
        UsageError: pyarrow is not installed.
    """
    pa, pq = arrow()
    kinds = {"step": pa.int64(), "group": pa.int64(), "length": pa.int64(), "advantage": pa.float64()}
    kinds["rewards"] = pa.map_(pa.string(), pa.float64())
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    rows = iter(samples)
    with pq.ParquetWriter(out, schema) as writer:
        while batch := [_cells(sample) for sample in islice(rows, BATCH)]:
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


FORMATS: tuple[tuple[str, Callable[[Iterable[Sample], BinaryIO], None]], ...] = (
    ("jsonl", jsonl),
    ("csv", as_csv),
    ("parquet", parquet),
)


class Summary:
    """What passed by: how many samples of which steps, and how varied the answers were."""

    def __init__(self) -> None:
        self.count = 0
        self._first: int | None = None
        self._last: int | None = None
        self._groups = 0
        self._shares = 0.0

    def of(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """The same samples, counted."""
        shares = Shares()
        for sample in samples:
            self.count += 1
            self._take(shares.add(sample))
            if sample.step is not None:
                self._first = sample.step if self._first is None else min(sample.step, self._first)
                self._last = sample.step if self._last is None else max(sample.step, self._last)
            yield sample
        self._take(shares.finish())

    def _take(self, shares: dict[tuple[int | None, int], float]) -> None:
        self._groups += len(shares)
        self._shares += sum(shares.values())

    def text(self) -> str:
        """In one line."""
        steps = "of unknown steps" if self._first is None else f"of steps {self._first} to {self._last}"
        groups = f", {self._groups} groups, distinct answers {self._shares / self._groups:.3g}" if self._groups else ""
        return f"{self.count} samples {steps}{groups}"


def _cells(sample: Sample) -> dict[str, Any]:
    """A row for Parquet, whose texts must be Unicode."""
    cells = {name: getattr(sample, name) for name in COLUMNS}
    cells["rewards"] = [(_unicode(name), value) for name, value in sample.rewards.items()]
    return {name: _unicode(value) if isinstance(value, str) else value for name, value in cells.items()}


def _unicode(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
