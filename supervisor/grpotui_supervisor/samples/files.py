"""The samples of a file, or of a folder of them. The only module here that opens files."""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.samples.rows import completion_samples, dump_samples
from grpotui_supervisor.samples.trl_tables import TableReader
from grpotui_supervisor.samples.verl_console import ConsoleReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.samples.sample import Sample

BLOCK: Final = 1 << 20
LOG_READERS: Final = (TableReader, ConsoleReader)
"""What finds samples in a log; each reads all of it."""

_DUMPS: Final = (".jsonl", ".parquet")
_NUMBER = re.compile(r"[0-9]{1,15}")


def samples_of(path: str) -> Iterator[Sample]:
    """All samples of a log, of a dump (`.jsonl`, `.parquet`), or of the dumps in a folder in the order of their steps.

    Raises:
        UsageError: the file cannot be read, or needs a library that is not there.
    """
    try:
        if os.path.isdir(path):
            for name in sorted((name for name in os.listdir(path) if name.endswith(_DUMPS)), key=_in_order):
                yield from samples_of(os.path.join(path, name))
        elif path.endswith(".parquet"):
            yield from _parquet_samples(path)
        elif path.endswith(".jsonl"):
            with open(path, encoding="utf-8", errors="replace") as lines:
                yield from dump_samples(lines, step=_step_in(path))
        else:
            yield from _log_samples(path)
    except OSError as error:
        raise UsageError(f"cannot read samples from {path}: {error.strerror}") from error


def _log_samples(path: str) -> Iterator[Sample]:
    readers = [make() for make in LOG_READERS]
    with open(path, "rb") as log:
        while block := log.read(BLOCK):
            for reader in readers:
                yield from reader.feed(block)
    for reader in readers:
        yield from reader.finish()


def _parquet_samples(path: str) -> Iterator[Sample]:
    try:
        parquet: Any = import_module("pyarrow.parquet")
        broken: type[Exception] = import_module("pyarrow").ArrowException
    except ImportError as error:
        raise UsageError(
            f"{path} is a Parquet file, and pyarrow is not installed", hint="pip install 'grpotui[parquet]'"
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            yield from completion_samples(row for batch in file.iter_batches() for row in batch.to_pylist())
    except broken as error:
        raise UsageError(f"{path} is not a whole Parquet file: {error}") from error


def _step_in(path: str) -> int | None:
    """A dump of verl is named by its step: `120.jsonl`."""
    name = os.path.basename(path).removesuffix(".jsonl")
    return int(name) if _NUMBER.fullmatch(name) else None


def _in_order(name: str) -> tuple[int, str]:
    number = _NUMBER.search(name)
    return (int(number[0]) if number else -1, name)
