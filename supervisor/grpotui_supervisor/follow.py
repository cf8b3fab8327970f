"""Following files that grow: whole lines of a record, and byte ranges of a log."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import msgspec

from grpotui_supervisor.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 1 << 20


class Records:
    """A record file, read line by line as it grows; only what could be seen at a given moment is handed out.

    A torn last line waits for its end, and anything that is no JSON object with an `ev` is passed over.

    Attributes:
        last_m: from when on the newest record that was handed out could be seen; None before the first.
    """

    def __init__(self, path: str, *, schema: int = 1) -> None:
        self._path = path
        self._schema = schema
        self._offset = 0
        self._rest = b""
        self._ahead: list[dict[str, Any]] = []
        self._decode = msgspec.json.Decoder().decode
        self.last_m: int | None = None

    def until(self, moment: int | None) -> Iterator[dict[str, Any]]:
        """New records that were in the file at `moment` (monotonic nanoseconds); None: all there are.

        Raises:
            SchemaError: the header names a higher schema.
        """
        self._ahead.extend(self._read())
        count = 0
        for record in self._ahead:
            if moment is not None and visible(record) > moment:
                break
            count += 1
        ready, self._ahead = self._ahead[:count], self._ahead[count:]
        if ready:
            newest = max(map(visible, ready))
            self.last_m = newest if self.last_m is None else max(self.last_m, newest)
        yield from ready

    def _read(self) -> Iterator[dict[str, Any]]:
        for block in read_range(self._path, self._offset, None):
            self._offset += len(block)
            *lines, self._rest = (self._rest + block).split(b"\n")
            for line in lines:
                record = self._parse(line)
                if record is not None:
                    yield record

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        try:
            record = self._decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            record = _decode_surrogates(line)
        if not isinstance(record, dict) or not isinstance(record.get("ev"), str) or type(record.get("m")) is not int:
            return None
        if record["ev"] == "header" and isinstance(record.get("schema"), int) and record["schema"] > self._schema:
            name = os.path.basename(self._path)
            raise SchemaError(
                f"{name} was written by a newer grpotui (schema {record['schema']}, this one reads {self._schema})",
                hint="update grpotui, or use the version that wrote it",
            )
        return record


def _decode_surrogates(line: bytes) -> object:
    """A path that is no UTF-8 text is written with lone surrogates, which Python reads back and msgspec refuses."""
    if b"\\ud" not in line:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def visible(record: dict[str, Any]) -> int:
    """When the line was in the file: a record that waited for a full disk says so."""
    written = record.get("written_m")
    return written if type(written) is int else int(record["m"])


def read_range(path: str, begin: int, end: int | None) -> Iterator[bytes]:
    """Blocks of a file from `begin` to `end` (None: to its present end). A missing file has none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        while end is None or begin < end:
            size = _BLOCK if end is None else min(_BLOCK, end - begin)
            block = os.pread(fd, size, begin)
            if not block:
                return
            begin += len(block)
            yield block
    except OSError:
        return
    finally:
        os.close(fd)
