"""What the readers that go line by line share: the lines of each stream, Ray's prefixes, printed dictionaries, rows.

Each of them is one file with one `LineReader`; they do not know each other.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from grpotui_supervisor.logs import columns as store
from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns, Series
from grpotui_supervisor.logs.reader import Lines, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ACTOR = re.compile(r"\((?:[A-Za-z_][\w.]*)?(?: ?pid=[0-9]+)(?:, ip=[0-9A-Fa-f.:]+)?\) ?")
_PAIR = re.compile(r"""(?:'([^'\\]*)'|"([^"\\]*)")\s*:\s*(?:'([^'\\]*)'|"([^"\\]*)"|([^\s,{}\[\]'"][^,{}\[\]'"]*))""")
_TENSOR = re.compile(r"tensor\(([^(),]+)")

Pair = tuple[str, float]


class LineReader(ABC):
    """Reads one run's output line by line; either stream may carry its records."""

    framework: ClassVar[str]

    def __init__(self) -> None:
        self.columns = Columns()
        self.step: int | None = None
        self.steps_total: int | None = None
        self.training_complete = False
        self._streams: dict[str, Lines] = {}

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:
        """Read the next bytes of a stream."""
        for line in self._streams.setdefault(stream, Lines()).feed(block):
            self._read(line, stream)

    @abstractmethod
    def _read(self, line: str, stream: str) -> None:
        """Read one whole line, without control sequences."""

    def _record(self, step: int, pairs: Iterable[Pair]) -> None:
        """Append a record of a framework that prints its steps in order: see `record_in_order`."""
        record_in_order(self.columns, step, list(pairs))


def record_in_order(columns: Columns, step: int, pairs: list[Pair]) -> None:
    """Append a record, where only a run that starts again goes back to an earlier step.

    Such a step gets a new row. A record with other metrics than its step has so far only adds to it.
    """
    if pairs and UNKNOWN_STEP != step < columns.top and columns.happens_again(step, pairs[0][0]):
        columns.restart(step)
    columns.record(step, pairs)


class Row:
    """One record that arrives line by line, whose step may be unknown."""

    def __init__(self, columns: Columns, step: int) -> None:
        self._columns = columns
        self._step = step
        self._index: int | None = None
        self._begun = False

    def put(self, pairs: Iterable[Pair]) -> None:
        """Add metrics; the row appears with the first of them."""
        found = list(pairs)
        if not found:
            return
        if self._step != UNKNOWN_STEP:
            record = self._columns.record if self._begun else partial(record_in_order, self._columns)
            record(self._step, found)
        elif self._index is None:
            self._columns.record(UNKNOWN_STEP, found)
            self._index = len(self._columns) - 1
        else:
            self._add(self._index, found)
        self._begun = True

    def _add(self, index: int, pairs: Iterable[Pair]) -> None:
        series = self._columns.series
        for key, value in pairs:
            if key in series or len(series) < store.MAX_SERIES:
                series.setdefault(key, Series()).put(index, value)


def split_actor(line: str) -> tuple[str, str]:
    """Ray's prefix `(TaskRunner pid=42) `, empty where there is none, and what stands behind it."""
    if not line.startswith("("):
        return "", line
    found = _ACTOR.match(line)
    return (found[0], line[found.end() :]) if found else ("", line)


def dicts_after(start: re.Pattern[str], line: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each match of `start`, whose end is an opening brace, and the text from there to the closing one.

    Goes on behind that brace, so a line of nothing but openings costs no more than any other.
    """
    at = 0
    while found := start.search(line, at):
        at = line.find("}", found.end())
        if at < 0:
            return
        yield found, line[found.end() : at]


def dict_pairs(text: str) -> Iterator[Pair]:
    """The numbers of a printed Python dictionary, or of one line of it.

    Reads quoted numbers, `np.float64(0.5)` and `tensor(0.5, device='cuda:0')` too; other values are left out.
    """
    for single, double, quoted, other, bare in _PAIR.findall(text):
        tensor = _TENSOR.match(bare) if bare.startswith("tensor(") else None
        value = number(tensor[1] if tensor else (quoted or other or bare.rstrip()))
        if value is not None:
            yield single or double, value


def json_object(text: str) -> dict[str, object] | None:
    """A JSON object; None for any other text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def numbers(found: dict[str, object], prefix: str = "") -> Iterator[Pair]:
    """The numbers of a JSON object, keys of nested ones joined by slashes."""
    for key, value in found.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{prefix}{key}/")
        elif isinstance(value, (int, float)):
            try:
                yield prefix + key, float(value)
            except OverflowError:
                continue


def step_of(value: object) -> int | None:
    """A step as JSON holds it; None for anything but a whole number that is not negative."""
    whole = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15
    return int(value) if whole and value == int(value) else None  # type: ignore[call-overload]
