"""An append-only record file: one JSON object a line, each one `write()` on an O_APPEND descriptor.

Nothing here raises on a full or failing disk: lines wait in memory, in order, and are written when the disk takes
them again. A death is reaped only after its line was written (`is_written`), so that until then the kernel's zombie
keeps the status. A line that was cut short is finished with a newline and written again; readers skip the torn one.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import deque

from grpotui_supervisor import __version__
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.shim.spill import Spill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = 1
_LATE_NS = 50_000_000
_MOST_SEQ = 1 << 53
"""No run gets there; a greater number in the file is garbage."""


_said: list[str] = []


def report(text: str) -> None:
    """Says something on stderr, once; a full disk or a closed descriptor must never end the shim."""
    if _said and _said[-1] == text:
        return
    _said[:] = [text]
    with contextlib.suppress(OSError):
        os.write(2, f"grpotui {os.getpid()}: {text}\n".encode("utf-8", "replace"))


class Journal:
    """The one writer of a file: `writer` says which program; `node` is this machine's name in the run (`node-0`).

    `spill`: lines that wait are to be seen by a forked successor too.
    """

    def __init__(self, path: str, node: str, *, writer: str, spill: bool = False) -> None:
        self._node = node
        self._writer = writer
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._spill = Spill(path) if spill else None
        self._waiting: deque[dict[str, object]] = deque()
        self._torn = False
        self._failing = False
        self._seq = 0
        self._written = 0

    def begin(self) -> bool:
        """Continues after what the file already holds; returns whether it had a header, and gives it one if not.

        A forked successor calls it again: what waited when the two parted is in the spill.
        """
        self._waiting.clear()
        self._seq, has_header = 0, False
        for record in self._in_file():
            self._seq = max(self._seq, _number(record))
            has_header = has_header or record["ev"] == "header"
        self._written = self._seq
        self._torn = self._ends_torn()
        for record in _records(self._spill.read()) if self._spill else ():
            if _number(record) > self._seq and isinstance(record.get("m"), int):
                self._seq = _number(record)
                self._waiting.append(record)
                has_header = has_header or record["ev"] == "header"
        if not has_header:
            self.add(
                "header", schema=SCHEMA, writer=self._writer, version=__version__, node=self._node,
                boot=procfs.boot_id(), pidns=procfs.pid_namespace(),
            )  # fmt: skip
        return has_header

    def add(self, ev: str, **fields: object) -> int:
        """Appends a record, now or as soon as the disk allows; returns its number for `is_written`."""
        self._seq += 1
        record = {"ev": ev, "t": time.time(), "m": time.monotonic_ns(), "seq": self._seq, **fields}
        self._waiting.append(record)
        if not self.flush() and self._spill is not None:
            self._spill.add(_encode(record))
        return self._seq

    def flush(self) -> bool:
        """Writes what waits; False when something still waits."""
        while self._waiting:
            try:
                self._write(self._waiting[0])
            except OSError as error:
                if not self._failing:
                    report(f"the record cannot be written ({error.strerror}); lines wait in memory")
                self._failing = True
                return False
            self._failing = False
            self._written = int(str(self._waiting.popleft()["seq"]))
        if self._spill is not None:
            self._spill.clear()
        return True

    @property
    def count(self) -> int:
        """Number of the last record."""
        return self._seq

    def is_written(self, seq: int) -> bool:
        """Whether the record with this number, and all before it, are in the file."""
        return seq <= self._written

    def sync(self) -> None:
        """Asks the disk to keep it over a power failure; process death loses nothing that was written."""
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            report(f"fdatasync: {error.strerror}")

    def read(self) -> Iterator[dict[str, object]]:
        """The records; torn lines and anything that is no JSON object are passed over."""
        yield from self._in_file()
        yield from list(self._waiting)

    def _in_file(self) -> Iterator[dict[str, object]]:
        try:
            raw = os.pread(self._fd, os.fstat(self._fd).st_size, 0)  # by descriptor: the path may be gone
        except OSError as error:
            report(f"the record cannot be read ({error.strerror})")
            return iter(())
        return _records(raw)

    def _ends_torn(self) -> bool:
        try:
            size = os.fstat(self._fd).st_size
            return size > 0 and os.pread(self._fd, 1, size - 1) != b"\n"
        except OSError:
            return True  # a blank line more harms nobody

    def _write(self, record: dict[str, object]) -> None:
        now, stamped = time.monotonic_ns(), int(str(record["m"]))
        if now - stamped > _LATE_NS:
            record["written_m"] = now  # readers must not believe that this was known at `m`
        line = (b"\n" if self._torn else b"") + _encode(record)
        count = os.write(self._fd, line)
        self._torn = 0 < count < len(line) or (self._torn and count == 0)
        if count < len(line) - 1:  # without its newline alone it is whole: to write it again would double it
            raise OSError(28, "short write")


def _encode(record: dict[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _records(raw: bytes) -> Iterator[dict[str, object]]:
    for line in raw.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("ev"), str):
            yield record


def _number(record: dict[str, object]) -> int:
    seq = record.get("seq")
    return seq if isinstance(seq, int) and 0 < seq < _MOST_SEQ else 0
