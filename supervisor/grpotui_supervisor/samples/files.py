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
    from collections.abc import Callable, Iterable, Iterator

    from grpotui_supervisor.samples.sample import Sample

BLOCK: Final = 1 << 20
LINE_LIMIT: Final = 1 << 24
"""Bytes of one line of a dump; a longer one is passed over."""
ROWS: Final = 256
"""Rows of a Parquet file that are held at once."""
LOG_READERS: Final = (TableReader, ConsoleReader)
"""What finds samples in a log; each reads all of it."""

_LINES: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_DUMPS: Final = (*_LINES, ".parquet")
_FOLDER: Final = "completions"
"""Where TRL puts its dumps, below the folder of its output."""
_NUMBER = re.compile(r"[0-9]{1,15}")


def samples_of(path: str, blocks: Callable[[str], Iterable[bytes]] | None = None) -> Iterator[Sample]:
    """All samples of a log, of a dump (`.jsonl`, `.parquet`), or of the dumps in a folder in the order of their steps.

    `blocks` opens a log or a `.jsonl` and gives its content, unpacked; by default as it lies there.

    Raises:
        UsageError: the file cannot be read, or needs a library that is not there.
    """
    read = blocks or _blocks
    try:
        for file in dumps_in(path) if os.path.isdir(path) else [path]:
            if file.endswith(".parquet"):
                yield from _parquet_samples(file)
            elif file.endswith(_LINES):
                yield from dump_samples(_lines(read(file)), step=_step_in(file))
            else:
                yield from log_samples(read(file))
    except OSError as error:
        raise UsageError(f"cannot read samples from {path}: {error.strerror}") from error


def dumps_in(folder: str) -> list[str]:
    """The dumps of a folder in the order of their steps; where it has none, those that TRL put below it."""
    found = [name for name in os.listdir(folder) if name.endswith(_DUMPS)]
    below = os.path.join(folder, _FOLDER)
    if not found and os.path.isdir(below):
        return dumps_in(below)
    return [os.path.join(folder, name) for name in sorted(found, key=_in_order)]


def log_samples(blocks: Iterable[bytes]) -> Iterator[Sample]:
    """All samples of one stream of a log."""
    readers = [make() for make in LOG_READERS]
    for block in blocks:
        for reader in readers:
            yield from reader.feed(block)
    for reader in readers:
        yield from reader.finish()


def _blocks(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            yield block


def _lines(blocks: Iterable[bytes]) -> Iterator[str]:
    """The lines of a dump, in bounded memory."""
    rest = bytearray()
    for block in blocks:
        *whole, last = block.split(b"\n")
        for piece in whole:
            rest += piece[: LINE_LIMIT + 1]
            if len(rest) <= LINE_LIMIT:
                yield rest.decode("utf-8", "replace")
            rest.clear()
        rest += last[: max(0, LINE_LIMIT + 1 - len(rest))]
    if len(rest) <= LINE_LIMIT:
        yield rest.decode("utf-8", "replace")


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
            batches = file.iter_batches(batch_size=ROWS)
            yield from completion_samples(row for batch in batches for row in batch.to_pylist())
    except broken as error:
        raise UsageError(f"{path} is not a whole Parquet file: {error}") from error


def _step_in(path: str) -> int | None:
    """A dump of verl is named by its step: `120.jsonl`."""
    name = os.path.basename(path).partition(".")[0]
    return int(name) if _NUMBER.fullmatch(name) else None


def _in_order(name: str) -> tuple[int, str]:
    number = _NUMBER.search(name)
    return (int(number[0]) if number else -1, name)
