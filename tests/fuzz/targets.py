"""What is fuzzed, and what must hold of it: nothing raises, cuts do not matter, a truncated text tells nothing else.

A target takes the blocks of one text and returns all that it made of them, comparable, as events in their order where
what was told once is never taken back.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Final

from support.log_oracle import bits, cut, read, rows_of, state

from grpotui_supervisor.errors import SchemaError
from grpotui_supervisor.follow import Records, read_range
from grpotui_supervisor.logs import READERS
from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.engine import STARTING_WORDS, WORDS, EngineReader
from grpotui_supervisor.logs.marked import MarkedLines
from grpotui_supervisor.logs.tensorboard import TensorBoardReader
from grpotui_supervisor.samples.files import LOG_READERS
from grpotui_supervisor.samples.inert import inert
from grpotui_supervisor.samples.rows import dump_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grpotui_supervisor.samples.trl_tables import TableReader
    from grpotui_supervisor.samples.verl_console import ConsoleReader

Blocks = list[bytes]
STEADY: Final = frozenset(entry.framework for entry in READERS) - {"skyrl"}
"""What these have told once stays. SkyRL's rows without a step give way to the first one that has one."""
SINGLES: Final = 600
"""Texts up to this length are fed byte by byte, too."""


def log_reader(framework: str, blocks: Blocks) -> object:
    return state(read(framework, *(("stdout", block) for block in blocks), logging_steps=2))


def engine(blocks: Blocks) -> object:
    reader, marked = EngineReader(), MarkedLines()
    for block in blocks:
        for _, line in marked.lines(block, (*WORDS, *STARTING_WORDS)):
            reader.read(line)
    return reader.engines, bits(rows_of(reader.columns))


def tensorboard(blocks: Blocks) -> object:
    reader = TensorBoardReader()
    for block in blocks:
        reader.feed(block)
    points = {tag: (p.steps, p.walls.tobytes(), p.values.tobytes()) for tag, p in reader.points.items()}
    return points, reader.step, reader.damaged, reader.bad_records, bits(rows_of(reader.columns))


def samples(make: type[TableReader | ConsoleReader], blocks: Blocks) -> object:
    reader = make()
    found = [repr(sample) for block in blocks for sample in reader.feed(block)]
    return found + [repr(sample) for sample in reader.finish()]


def dumps(blocks: Blocks) -> object:
    return [repr(sample) for sample in dump_samples(b"".join(blocks).decode("utf-8", "replace").split("\n"))]


def records(blocks: Blocks) -> object:
    """A record file that grows by these blocks, read after each; and its bytes, in ranges."""
    with tempfile.NamedTemporaryFile() as file:
        reader, found, ranges, size = Records(file.name), [], b"", 0
        for block in blocks:
            os.write(file.fileno(), block)
            ranges += b"".join(read_range(file.name, size, size + len(block)))
            size += len(block)
            try:
                found += [repr(record) for record in reader.until(None)]
            except SchemaError:
                return "refused"
    assert ranges == b"".join(blocks)
    return found


def shown(blocks: Blocks) -> object:
    """A model's text, as a screen gets it."""
    text = inert(b"".join(blocks).decode("utf-8", "surrogatepass" if blocks[0][:1] == b"\xed" else "replace"))
    assert all(char in "\n\t" or not (ord(char) < 32 or 0x7F <= ord(char) < 0xA0) for char in text)
    return text


TARGETS: Final[dict[str, Callable[[Blocks], object]]] = {
    **{entry.framework: partial(log_reader, entry.framework) for entry in READERS},
    "auto": partial(log_reader, "auto"),
    "engine": engine,
    "tensorboard": tensorboard,
    **{make.__name__: partial(samples, make) for make in LOG_READERS},
    "dumps": dumps,
    "records": records,
    "shown": shown,
}


def check(name: str, data: bytes, places: Sequence[int] = ()) -> None:
    """All that must hold of one text."""
    target = TARGETS[name]
    whole = target([data])
    assert target(cut(data, places)) == whole, "cut into blocks it is another text"
    if len(data) <= SINGLES:
        assert target([bytes([byte]) for byte in data] or [b""]) == whole, "byte by byte it is another text"
    if name in STEADY and places:
        _check_truncated(name, data, places[0] % (len(data) + 1))


def _check_truncated(framework: str, data: bytes, end: int) -> None:
    """A row that was told stays one; its step may become known, and a later line may add to it or correct it."""
    some = read(framework, ("stdout", data[:end]), logging_steps=2).columns
    whole = read(framework, ("stdout", data), logging_steps=2).columns
    assert len(some) <= len(whole)
    for early, late in zip(some.steps, whole.steps, strict=False):
        assert early in (late, UNKNOWN_STEP)
    for key, series in some.series.items():
        assert set(series.rows) <= set(whole.series[key].rows), f"{key} is gone"
