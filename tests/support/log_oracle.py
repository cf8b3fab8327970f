"""Slow and obvious readers of the same logs, to compare every number with; and what the log tests share.

They work on whole files, one character or one line at a time, and know nothing of the real readers' ways.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from grpotui_supervisor.logs import reader_for
from grpotui_supervisor.logs.columns import Columns
from grpotui_supervisor.logs.reader import Reader

TESTS = Path(__file__).parents[1]
EXCERPTS = TESTS / "supervisor" / "logs"
"""Short logs of our own runs, one folder a framework."""

Rows = list[tuple[int, dict[str, float]]]


def read(framework: str, *blocks: tuple[str, bytes], logging_steps: int | None = None) -> Reader:
    """Feed blocks of (stream, bytes) to a new reader."""
    reader = reader_for(framework, logging_steps=logging_steps)
    assert reader is not None
    for stream, block in blocks:
        reader.feed(block, stream=stream)
    return reader


def rows_of(columns: Columns) -> Rows:
    return [(step, columns.row(index)) for index, step in enumerate(columns.steps)]


def bits(rows: Iterable[tuple[int, dict[str, float]]]) -> list[tuple[int, dict[str, bytes]]]:
    """Rows whose numbers compare bit for bit: NaN equals itself, 0.0 is not -0.0."""
    return [(step, {key: struct.pack("d", value) for key, value in row.items()}) for step, row in rows]


def state(reader: Reader) -> tuple[object, ...]:
    """Everything a reader tells, comparable."""
    told = (reader.framework, reader.step, reader.steps_total, reader.training_complete)
    return (*told, bits(rows_of(reader.columns)))


def lines(data: bytes) -> list[str]:
    """Split into finished lines without colours."""
    text = data.decode("utf-8", "replace").replace("\r", "\n")
    out, escape = [], False
    for char in text:
        if char == "\x1b":
            escape = True
        elif escape:
            escape = not char.isalpha()
        else:
            out.append(char)
    return "".join(out).split("\n")[:-1]


def verl_rows(data: bytes) -> Rows:
    rows: dict[int, dict[str, float]] = {}
    for line in lines(data):
        before, found, rest = line.partition("step:")
        step, dash, metrics = rest.partition(" - ")
        if not (found and dash and step.isdigit()) or before[-1:].isalnum() or before[-1:] in {"_", "/"}:
            continue
        row = rows.setdefault(int(step), {})
        for field in metrics.split(" - "):
            key, _, printed = field.rpartition(":")
            row[key] = verl_number(printed.split("(TaskRunner")[0])
    return list(rows.items())


def verl_number(text: str) -> float:
    if text in {"True", "False"}:
        return float(text == "True")
    return float(text[text.index("(") + 1 : text.index(")")] if text.startswith("np.") else text)


def trl_dicts(data: bytes) -> Iterable[dict[str, float]]:
    for line in lines(data):
        if "{'loss'" in line or "{'train_runtime'" in line:
            body = line[line.index("{") : line.index("}") + 1]
            found = eval(body, {"__builtins__": {}}, {"nan": math.nan, "inf": math.inf})  # our own runs
            yield {key: float(value) for key, value in found.items() if value is not None}


def trl_rows(data: bytes, every: int) -> Rows:
    records = [found for found in trl_dicts(data) if "train_loss" not in found]
    return [(number * every, found) for number, found in enumerate(records, start=1)]


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """The same bytes in several blocks."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]
