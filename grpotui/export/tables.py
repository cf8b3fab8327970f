"""Metrics of a source as tables: one function a format, each writes rows to an open stream."""

from __future__ import annotations

import csv
import io
import json
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO

from grpotui.text import inert
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.status import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grpotui.progress import Progress
    from grpotui_supervisor.source.metrics import Metrics

_DELETE = "\x7f"
"""The one control character that JSON leaves as it is."""


def jsonl(metrics: Metrics, out: BinaryIO, progress: Progress) -> None:
    """One object a row: `{"step", "metrics": {canonical}, "raw": {the framework's own keys}}`."""
    for row in _counted(metrics, progress):
        record = {
            "step": metrics.step_of(row),
            "metrics": {key: number(value) for key, value in metrics.metrics(row).items()},
            "raw": {key: number(value) for key, value in metrics.raw(row).items()},
        }
        out.write(json.dumps(record).replace(_DELETE, "\\u007f").encode() + b"\n")


def as_csv(metrics: Metrics, out: BinaryIO, progress: Progress) -> None:
    """A column for each canonical metric, then one for each of the framework's keys; absent is an empty cell.

    It may end on a terminal, so a key is written without what that would obey.
    """
    canonical, raw = _keys(metrics)
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(["step", *map(inert, canonical), *(f"raw:{inert(key)}" for key in raw)])
    for step, named, own in _rows(metrics, progress):
        cells = [named.get(key) for key in canonical] + [own.get(key) for key in raw]
        writer.writerow(["" if step is None else step, *("" if cell is None else repr(cell) for cell in cells)])
    text.detach()


def parquet(metrics: Metrics, out: BinaryIO, progress: Progress) -> None:
    """The table of `as_csv`, with nulls for what is absent. Needs pyarrow.

    Raises:
        UsageError: pyarrow is not installed.
    """
    pa, pq = arrow()
    canonical, raw = _keys(metrics)
    table: dict[str, list[Any]] = {"step": [], **{key: [] for key in canonical}, **{f"raw:{key}": [] for key in raw}}
    for step, named, own in _rows(metrics, progress):
        table["step"].append(step)
        for key in canonical:
            table[key].append(named.get(key))
        for key in raw:
            table[f"raw:{key}"].append(own.get(key))
    types = {"step": pa.int64()}
    schema = pa.schema([(name, types.get(name, pa.float64())) for name in table])
    pq.write_table(pa.table(table, schema=schema), out)


FORMATS: tuple[tuple[str, Callable[[Metrics, BinaryIO, Progress], None]], ...] = (
    ("jsonl", jsonl),
    ("csv", as_csv),
    ("parquet", parquet),
)


def arrow() -> tuple[Any, Any]:
    """The modules `pyarrow` and `pyarrow.parquet`.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")  # an extra
    except ImportError:
        raise UsageError("parquet needs pyarrow", hint="pip install 'grpotui[parquet]'") from None


def _keys(metrics: Metrics) -> tuple[list[str], list[str]]:
    canonical = {key: None for row in range(metrics.steps) for key in metrics.metrics(row)}
    raw = list(metrics.columns.series) if metrics.columns is not None else []
    return list(canonical), raw


def _rows(metrics: Metrics, progress: Progress) -> Iterator[tuple[int | None, dict[str, float], dict[str, float]]]:
    for row in _counted(metrics, progress):
        yield metrics.step_of(row), metrics.metrics(row), metrics.raw(row)


def _counted(metrics: Metrics, progress: Progress) -> Iterator[int]:
    for row in range(metrics.steps):
        yield row
        progress(row + 1, metrics.steps)
