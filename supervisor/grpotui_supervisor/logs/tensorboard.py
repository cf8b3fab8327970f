"""Reads TensorBoard's event files: scalars with their steps and wall times, as the file grows. No TensorFlow.

A file is a row of records: length, checksum of the length, data, checksum of the data, all little-endian. The data is a
protocol buffer, `Event`, of which only the fields are read that a scalar needs: wall_time=1, step=2, summary=5 with
value=1, in it tag=1, simple_value=2 or tensor=8. A record that has not come to its end waits for the next block. One
whose data is damaged is left out; behind one whose length is, nothing can be found any more.
"""

from __future__ import annotations

import math
import struct
from array import array
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.logs import columns as store
from grpotui_supervisor.logs.columns import Columns
from grpotui_supervisor.logs.crc32c import crc32c, masked
from grpotui_supervisor.logs.tensorboard_runs import FOOTER, HEADER, Periods, Shape
from grpotui_supervisor.logs.tensorboard_tags import framework_of

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORD_LIMIT: Final = 1 << 24
"""Bytes of a record that is looked at; longer ones hold pictures or graphs and are passed over unread."""

_VARINT, _FIXED64, _TEXT, _FIXED32 = 0, 1, 2, 5
_FLOAT, _DOUBLE, _INT32, _INT64 = 1, 2, 3, 9
_TENSOR_FORMATS: Final = {_FLOAT: "<f", _DOUBLE: "<d", _INT32: "<i", _INT64: "<q"}
_TENSOR_FIELDS: Final = {5: "<f", 6: "<d"}
_PACKED_INTEGERS: Final = (7, 10)

Scalar = tuple[str, float]


class Points:
    """The scalars of one tag, in the order of the file."""

    __slots__ = ("steps", "values", "walls")

    def __init__(self) -> None:
        self.steps: array[int] = array("q")
        self.walls: array[float] = array("d")
        """Seconds since 1970."""
        self.values: array[float] = array("f")
        """In the file's single precision; in double from the first tensor of doubles on."""

    def put(self, step: int, wall: float, value: float) -> None:
        """Append one; a value that single precision cannot hold changes the precision of all."""
        if self.values.typecode == "f" and not math.isnan(value) and _rounded(value) != value:
            self.values = array("d", self.values.tolist())
        self.steps.append(step)
        self.walls.append(wall)
        self.values.append(value)

    def extend(self, steps: array[int], walls: array[float], values: array[float]) -> None:
        """Append many, of single precision."""
        self.steps.extend(steps)
        self.walls.extend(walls)
        self.values.extend(values if self.values.typecode == "f" else array("d", values.tolist()))


def is_event_file(start: bytes) -> bool:
    """Whether the first bytes of a file are those of a record: its length has the checksum that stands behind it."""
    return len(start) >= HEADER and masked(crc32c(start[:8])).to_bytes(FOOTER, "little") == start[8:HEADER]


class TensorBoardReader:
    """One event file, or several of one run one after the other."""

    steps_total: int | None = None
    training_complete = False
    """An event file tells neither."""

    def __init__(self) -> None:
        self.points: dict[str, Points] = {}
        self.damaged: str | None = None
        """Why the rest of the file cannot be read; None while it can."""
        self.bad_records = 0
        """Records left out because their data is damaged."""
        self.step: int | None = None
        self._rest = b""
        self._pass_over = 0
        self._periods = Periods()
        self._shapes: dict[tuple[bytes, int, bytes], Shape] = {}
        self._columns = Columns()
        self._shown: dict[str, int] = {}
        self._framework: tuple[int, str | None] = (0, None)

    @property
    def framework(self) -> str:
        """That of the trainer, when its tags tell it; else "tensorboard"."""
        if self._framework[0] != len(self.points):
            self._framework = (len(self.points), framework_of(self.points))
        return self._framework[1] or "tensorboard"

    def walls(self) -> dict[int, float]:
        """When each step was first written, in seconds since 1970."""
        found: dict[int, float] = {}
        for points in self.points.values():
            for step, wall in zip(points.steps, points.walls, strict=True):
                found[step] = min(wall, found.get(step, wall))
        return found

    def next_file(self) -> None:
        """What comes is the beginning of the run's next file; a record that the last one broke off in is lost."""
        self._rest, self._pass_over, self.damaged = b"", 0, None

    @property
    def columns(self) -> Columns:
        """The scalars by step; brought up to date when it is asked for."""
        new = {tag: self._shown.get(tag, 0) for tag, p in self.points.items() if len(p.steps) > self._shown.get(tag, 0)}
        for step in sorted({step for tag, start in new.items() for step in self.points[tag].steps[start:]}):
            self._columns.record(step, ())
        for tag, start in new.items():
            points = self.points[tag]
            for step, value in zip(points.steps[start:], points.values[start:], strict=True):
                self._columns.record(step, ((tag, value),))
            self._shown[tag] = len(points.steps)
        return self._columns

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:  # noqa: ARG002
        """Read the next bytes of the file."""
        if self.damaged is not None:
            return
        passed = min(self._pass_over, len(block))
        self._pass_over -= passed
        data = self._rest + block[passed:]
        at = 0
        while (end := self._read(data, at)) > at:
            at = end
        self._rest = data[at:]
        steps = [points.steps[-1] for points in self.points.values() if points.steps]
        self.step = max(steps, default=None)

    def _read(self, data: bytes, at: int) -> int:
        """Read what stands there. Returns its end, or `at` when it is not whole yet or cannot be read."""
        if self.damaged is not None or len(data) - at < HEADER:
            return at
        size, taken = self._periods.take(data, at)
        for tag, steps, walls, values in taken:
            self.points[tag].extend(steps, walls, values)
        return at + size if size else self._read_record(data, at)

    def _read_record(self, data: bytes, at: int) -> int:
        length = int.from_bytes(data[at : at + 8], "little")
        checksum = int.from_bytes(data[at + 8 : at + HEADER], "little")
        if masked(crc32c(data[at : at + 8])) != checksum:
            self.damaged = "a record's length is damaged"
            return at
        start, end = at + HEADER, at + HEADER + length
        if length > RECORD_LIMIT:
            self._pass_over = max(0, end + FOOTER - len(data))
            return min(len(data), end + FOOTER)
        if len(data) < end + FOOTER:
            return at
        body = data[start:end]
        if masked(crc32c(body)) != int.from_bytes(data[end : end + FOOTER], "little"):
            self.bad_records += 1
        else:
            self._read_event(body, data[at:start])
        return end + FOOTER

    def _read_event(self, body: bytes, header: bytes) -> None:
        simple = _simple(body)
        if simple is not None:
            tag, step, step_length = simple
            wall, value = struct.unpack_from("<d", body, 1)[0], struct.unpack_from("<f", body, len(body) - 4)[0]
            name = tag.decode("utf-8", "replace")
            self._put(name, step, wall, value)
            if name in self.points:
                self._periods.note(self._shape(header, body, tag, step_length))
            return
        wall, step, scalars = event(body)
        for name, value in scalars:
            self._put(name, step, wall, value)

    def _put(self, tag: str, step: int, wall: float, value: float) -> None:
        points = self.points.get(tag)
        if points is None:
            if len(self.points) >= store.MAX_SERIES:
                return
            points = self.points[tag] = Points()
        points.put(step, wall, value)

    def _shape(self, header: bytes, body: bytes, tag: bytes, step_length: int) -> Shape:
        known = self._shapes.get((header, step_length, tag))
        if known is None:
            if len(self._shapes) >= store.MAX_SERIES:
                self._shapes.clear()
            zeroed = bytearray(body)
            zeroed[1:9] = bytes(8)
            zeroed[10 : 10 + step_length] = bytes(step_length)
            zeroed[-4:] = bytes(4)
            known = Shape(tag.decode("utf-8", "replace"), header, bytes(zeroed), step_length)
            self._shapes[header, step_length, tag] = known
        return known


def _rounded(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.inf


def _simple(body: bytes) -> tuple[bytes, int, int] | None:
    """Tag, step and bytes of the step, if an event is laid out as nearly all are; None: read it the long way."""
    if len(body) < 24 or body[0] != 0x09 or body[9] != 0x10:
        return None
    step = shift = 0
    at = 10
    while body[at] & 0x80:
        step |= (body[at] & 0x7F) << shift
        shift += 7
        at += 1
        if at > 17:
            return None
    step |= body[at] << shift
    rest = len(body) - at - 1
    tag = rest - 11
    laid_out = (0x2A, rest - 2, 0x0A, rest - 4, 0x0A, tag)
    if not 0 < tag < 116 or tuple(body[at + 1 : at + 7]) != laid_out or body[-5] != 0x15:
        return None
    return body[at + 7 : -5], step, at - 9


def event(body: bytes) -> tuple[float, int, list[Scalar]]:
    """Wall time, step and scalars of any event; what is damaged or of another kind is left out."""
    wall, step, scalars = 0.0, 0, []
    for field, kind, value in _fields(body):
        if field == 1 and kind == _FIXED64:
            wall = struct.unpack("<d", value)[0]
        elif field == 2 and kind == _VARINT:
            step = _signed(int.from_bytes(value, "little"))
        elif field == 5 and kind == _TEXT:
            scalars += [found for f, k, v in _fields(value) if f == 1 and k == _TEXT and (found := _scalar(v))]
    return wall, step, scalars


def _scalar(value: bytes) -> Scalar | None:
    tag = number = None
    for field, kind, content in _fields(value):
        if field == 1 and kind == _TEXT:
            tag = content.decode("utf-8", "replace")
        elif field == 2 and kind == _FIXED32:
            number = struct.unpack("<f", content)[0]
        elif field == 8 and kind == _TEXT:
            number = _tensor(content)
    return None if tag is None or number is None else (tag, number)


def _tensor(content: bytes) -> float | None:
    """The number of a tensor that holds exactly one; None for any other."""
    kind, raw, numbers = 0, b"", []
    for field, wire, value in _fields(content):
        if field == 1 and wire == _VARINT:
            kind = int.from_bytes(value, "little")
        elif field == 4 and wire == _TEXT:
            raw = value
        elif field in _TENSOR_FIELDS and wire in (_FIXED32, _FIXED64, _TEXT):
            form = _TENSOR_FIELDS[field]
            numbers += (
                [n for (n,) in struct.iter_unpack(form, value)] if len(value) % struct.calcsize(form) == 0 else []
            )
        elif field in _PACKED_INTEGERS:
            numbers += [float(_signed(n)) for n in _integers(value, wire)]
    form = _TENSOR_FORMATS.get(kind, "")
    if form and len(raw) == struct.calcsize(form):
        return float(struct.unpack(form, raw)[0])
    return numbers[0] if len(numbers) == 1 and not raw else None


def _integers(value: bytes, wire: int) -> Iterator[int]:
    if wire == _VARINT:
        yield int.from_bytes(value, "little")
    at = 0
    while wire == _TEXT and at < len(value):
        number, at = _varint(value, at)
        if number is None:
            return
        yield number


def _fields(message: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, wire type and content of each field; ends at the first that is damaged. A varint comes as eight bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key is None:
            return
        kind = key & 7
        if kind == _VARINT:
            number, at = _varint(message, at)
            if number is None:
                return
            yield key >> 3, kind, number.to_bytes(8, "little")
            continue
        length: int | None = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if kind == _TEXT:
            length, at = _varint(message, at)
        if length is None or at + length > len(message):
            return
        yield key >> 3, kind, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int | None, int]:
    """A number of seven bits a byte, and where it ends; None when it does not."""
    number = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    return None, at


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
