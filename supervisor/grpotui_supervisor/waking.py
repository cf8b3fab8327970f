"""Waiting until a file has grown: the kernel's word where it gives one, a look from time to time where it does not."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING

from grpotui_supervisor.inotify import (
    CLOSE_WRITE,
    CREATE,
    DELETE_SELF,
    IGNORED,
    MODIFY,
    MOVE_SELF,
    MOVED_TO,
    OVERFLOW,
    Inotify,
)
from grpotui_supervisor.readable import readable
from grpotui_supervisor.rundir import is_network_file_system

if TYPE_CHECKING:
    from collections.abc import Iterable

_FILE = MODIFY | CLOSE_WRITE | MOVE_SELF | DELETE_SELF
"""CLOSE_WRITE: of a lock, that its holder has ended."""
_FOLDER = CREATE | MOVED_TO
_AGAIN_S = 5.0
"""How often watches are laid anew at the latest: what a file system does not tell must not be missed for ever."""


class Waker:
    """Waits for growth of files, of which any may not be there yet, be replaced, or lie where nothing is told.

    It polls with `GRPOTUI_POLL` set, on network file systems, and when the user's inotify instances or watches are
    used up.
    """

    def __init__(self, *, poll_s: float) -> None:
        """`poll_s`: the longest wait when a file cannot be watched."""
        self._poll_s = poll_s
        self._paths: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._networked: dict[str, bool] = {}
        self._unwatchable: set[str] = set()
        self._stale = True
        self._laid_at = 0.0
        self._inotify = _inotify()

    @property
    def is_polling(self) -> bool:
        """Whether growth of some file is found by looking only."""
        return self._inotify is None or bool(self._unwatchable)

    def watch(self, paths: Iterable[str]) -> None:
        """From now on these files, and no others."""
        wanted = set(paths)
        if wanted != self._paths:
            self._paths, self._stale = wanted, True

    def wait(self, seconds: float, fds: Iterable[int] = ()) -> None:
        """Returns when a file has changed, one of the descriptors is readable, or the time is up.

        A watch that was just laid returns at once: what came before it must be looked at first.
        """
        if self._inotify is None:
            readable(fds, min(seconds, self._poll_s))
            return
        if (self._stale or time.monotonic() - self._laid_at > _AGAIN_S) and self._lay(self._inotify):
            return
        limit = min(seconds, self._poll_s) if self._unwatchable else seconds
        if self._inotify.fd in readable([self._inotify.fd, *fds], limit):
            self._take(self._inotify)

    def close(self) -> None:
        """Gives the inotify instance back."""
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _take(self, inotify: Inotify) -> None:
        folders = {number for path, number in self._numbers.items() if path not in self._paths}
        for number, mask in inotify.events():
            if number in folders or mask & (IGNORED | OVERFLOW | MOVE_SELF | DELETE_SELF):
                self._stale = True

    def _lay(self, inotify: Inotify) -> bool:
        """Lays all watches; returns whether any is new."""
        before, self._unwatchable = dict(self._numbers), set()
        wanted = [(path, _FILE) for path in self._paths]
        wanted += [(folder, _FOLDER) for folder in {os.path.dirname(path) for path in self._paths}]
        self._numbers = {path: number for path, mask in wanted if (number := self._add(inotify, path, mask))}
        for number in set(before.values()) - set(self._numbers.values()):
            inotify.remove(number)
        self._stale, self._laid_at = False, time.monotonic()
        return bool(set(self._numbers.values()) - set(before.values()))

    def _add(self, inotify: Inotify, path: str, mask: int) -> int | None:
        folder = os.path.dirname(path)
        if folder not in self._networked:
            self._networked[folder] = is_network_file_system(os.path.realpath(folder)) is not None
        if self._networked[folder]:
            self._unwatchable.add(path)
            return None
        try:
            return inotify.add(path, mask)
        except OSError as error:
            if error.errno != errno.ENOENT or mask == _FOLDER:
                self._unwatchable.add(path)
            return None


def _inotify() -> Inotify | None:
    if os.environ.get("GRPOTUI_POLL"):
        return None
    try:
        return Inotify()
    except OSError:
        return None
