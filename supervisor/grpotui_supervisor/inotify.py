"""The three calls of Linux's inotify, over libc: a descriptor that becomes readable when a watched file changes.

Not through `watchfiles`: its thread wakes up by itself, 0.25 to 0.44 % of a core while nothing happens at steps of 15
and 5 ms, and it cannot be waited for together with pidfds. `inotify_simple` starts ldconfig to find libc.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MODIFY, CLOSE_WRITE, MOVED_TO, CREATE, DELETE_SELF, MOVE_SELF = 0x2, 0x8, 0x80, 0x100, 0x400, 0x800
OVERFLOW, IGNORED = 0x4000, 0x8000
_EVENT = struct.Struct("iIII")
_BLOCK = 1 << 16


class Inotify:
    """One inotify instance; the kernel gives a user 128 of them."""

    def __init__(self) -> None:
        """Raises OSError where the kernel has none to give."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self._called(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def add(self, path: str, mask: int) -> int:
        """Watches a file or directory and returns its number, the same again for one that is watched already.

        Raises:
            OSError: it does not exist, may not be read, or the user's watches are used up.
        """
        return self._called(self._libc.inotify_add_watch(self.fd, os.fsencode(path), mask))

    def remove(self, number: int) -> None:
        """Ends a watch; one that has gone with its file is fine."""
        self._libc.inotify_rm_watch(self.fd, number)

    def events(self) -> Iterator[tuple[int, int]]:
        """What has happened since the last call: (number of the watch, mask)."""
        with contextlib.suppress(BlockingIOError):
            while raw := os.read(self.fd, _BLOCK):
                yield from _parse(raw)

    def close(self) -> None:
        """Gives it back to the kernel."""
        os.close(self.fd)

    @staticmethod
    def _called(result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result


def _parse(raw: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(raw):
        number, mask, _, length = _EVENT.unpack_from(raw, at)
        yield number, mask
        at += _EVENT.size + length
