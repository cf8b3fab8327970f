"""Lines that wait for the disk, in memory that a forked successor shares.

On a full disk the worker's SIGKILL would otherwise take with it which signals were ours and in which order ranks
died: the guard would see a rank that we ended as one that failed.
"""

from __future__ import annotations

import os

_MOST = 1 << 20


class Spill:
    """A memory file, appended to while the disk takes nothing and emptied when it does again; never raises."""

    def __init__(self, name: str) -> None:
        try:
            self._fd: int | None = os.memfd_create(os.path.basename(name), os.MFD_CLOEXEC)
        except OSError:
            self._fd = None  # the run goes on, only less safe
        self._size = 0

    def add(self, line: bytes) -> None:
        """Keeps a line; beyond 1 MiB it is not kept."""
        if self._fd is None or self._size + len(line) > _MOST:
            return
        try:
            self._size += os.pwrite(self._fd, line, self._size)
        except OSError:
            return

    def clear(self) -> None:
        """Forgets all lines: they are in the file now."""
        if self._fd is None or not self._size:
            return
        try:
            os.ftruncate(self._fd, 0)
        except OSError:
            return
        self._size = 0

    def read(self) -> bytes:
        """All lines; the successor goes on after them."""
        if self._fd is None:
            return b""
        try:
            raw = os.pread(self._fd, _MOST, 0)
        except OSError:
            return b""
        self._size = len(raw)
        return raw
