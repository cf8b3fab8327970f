"""Blocks of a log file, plain or compressed, or of standard input."""

from __future__ import annotations

import gzip
import sys
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, BinaryIO, cast

from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def blocks(path: str) -> Iterator[bytes]:
    """The content of a file from its beginning to its present end; `-` is standard input.

    What a compressed file was cut off in is read as far as it goes.

    Raises:
        UsageError: the file cannot be opened or read, or its compression has no library here.
    """
    with closing(_open(path)) as file:
        while True:
            try:
                block = file.read(SIZE)
            except (EOFError, zlib.error):
                return  # a compressed log that is still being written, or was cut
            except OSError as error:
                raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
            if not block:
                return
            yield block


def is_packed(path: str) -> bool:
    """Whether a file is compressed in a way that is read here; one that is not there, or cannot be read, is not."""
    try:
        start = _magic(path)
    except OSError:
        return False
    return start.startswith(_GZIP) or start == _ZSTD


def _magic(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(4)


def _open(path: str) -> BinaryIO:
    if path == "-":
        return sys.stdin.buffer
    try:
        start = _magic(path)
        if start.startswith(_GZIP):
            return cast("BinaryIO", gzip.open(path, "rb"))
        if start == _ZSTD:
            return _open_zstd(path)
        return open(path, "rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be opened: {error.strerror}") from error


def _open_zstd(path: str) -> BinaryIO:
    try:
        import zstandard  # noqa: PLC0415  (an extra)
    except ImportError:
        raise UsageError(
            f"{path} is compressed with zstd, which Python cannot read by itself",
            hint="pip install 'grpotui[zstd]', or unpack it: zstd -d",
        ) from None
    return cast("BinaryIO", zstandard.open(path, "rb"))
