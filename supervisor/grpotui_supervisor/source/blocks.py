"""Blocks of a log file, plain or compressed, or of standard input."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.readable import readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Buffer

SIZE = 1 << 20
_SLICE_S = 0.2
"""So long a silent pipe is waited for before signals are looked at again."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class _Source(Protocol):
    def read1(self, size: int, /) -> bytes: ...


class _Pipe(io.RawIOBase):
    """A pipe, or a terminal, of which a read never waits long: it waits before it, in slices.

    A signal that comes between the interpreter's last look at signals and the read itself would otherwise be heard
    only when the writer writes again.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        while not readable([self._fd], _SLICE_S):
            pass
        return os.readv(self._fd, [buffer])


class Blocks:
    """The content of a file from its beginning to its present end, once; `-` is standard input.

    What a compressed file was cut off in is read as far as it goes.

    Attributes:
        size: bytes of the file as it lies there, packed; None for a pipe, and before the first block.
        position: how many of them have been read.
        cut: why it could not be read to its end; None while it could. Of a zstd file that merely ends too early its
            library says nothing.

    Iterating raises:
        UsageError: the file cannot be opened or read, or its compression has no library here.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.size: int | None = None
        self.position = 0
        self.cut: str | None = None
        self._broken: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)

    def __iter__(self) -> Iterator[bytes]:
        with self._open() as file:
            source = self._unpacked(file)
            while block := self._next(source):
                self.position = file.tell() if self.size is not None else self.position + len(block)
                yield block

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Once only, since it may be a pipe; buffered."""
        try:
            file = sys.stdin.buffer if self.path == "-" else open(self.path, "rb")  # noqa: SIM115
            facts = os.fstat(file.fileno())
        except OSError as error:
            raise UsageError(f"{self.path} cannot be opened: {error.strerror}") from error
        self.size = facts.st_size if stat.S_ISREG(facts.st_mode) else None
        try:
            yield file if self.size is not None else io.BufferedReader(_Pipe(file.fileno()))
        finally:
            if self.path != "-":
                file.close()

    def _next(self, source: _Source) -> bytes:
        """As much as fits a block; what came before the damage is not lost."""
        found = bytearray()
        while self.cut is None and len(found) < SIZE:
            try:
                piece = source.read1(SIZE - len(found))
            except self._broken as error:
                if not found and not self.position and not isinstance(error, EOFError):
                    raise UsageError(f"{self.path} cannot be unpacked: {error}") from error
                self.cut = "it is cut off or damaged: what lies behind that place cannot be unpacked"
                break
            except OSError as error:
                raise UsageError(f"{self.path} cannot be read: {error.strerror or error}") from error
            if not piece:
                break
            found += piece
        return bytes(found)

    def _unpacked(self, file: Any) -> _Source:  # noqa: ANN401  (a file, buffered)
        try:
            start = file.peek(4)[:4]
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {error.strerror or error}") from error
        if start.startswith(_GZIP):
            return gzip.GzipFile(fileobj=file)
        return self._zstd(file) if start == _ZSTD else cast("_Source", file)

    def _zstd(self, file: Any) -> _Source:  # noqa: ANN401
        try:
            zstandard: Any = import_module("zstandard")
        except ImportError:
            raise UsageError(
                f"{self.path} is compressed with zstd, which Python cannot read by itself",
                hint="pip install 'grpotui[zstd]', or unpack it: zstd -dc FILE | grpotui replay -",
            ) from None
        self._broken = (zstandard.ZstdError,)
        source: _Source = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return source


def is_packed(path: str) -> bool:
    """Whether a file is compressed in a way that is read here; one that is not there, or cannot be read, is not."""
    try:
        with open(path, "rb") as file:
            start = file.read(4)
    except OSError:
        return False
    return start.startswith(_GZIP) or start == _ZSTD


def size_of(paths: Sequence[str]) -> int | None:
    """Bytes of all of these files as they lie there; None when one is a pipe, or cannot be asked."""
    try:
        facts = [os.stat(path) for path in paths]
    except OSError:
        return None
    return sum(each.st_size for each in facts) if all(stat.S_ISREG(each.st_mode) for each in facts) else None
