"""Copies the logs of an attached job into the run directory: its members' logs there have no other writer.

Nothing is lost and nothing doubled over the death of a monitor: how far the source was read follows from the length of
the copy, since an `origin` in the timeline says which file the bytes are from that stand behind a place in the copy.
"""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING

from grpotui_supervisor.monitor.packed import Packed
from grpotui_supervisor.monitor.story import Story
from grpotui_supervisor.shim.journal import report
from grpotui_supervisor.source.followed import FollowedLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.shim.journal import Journal
    from grpotui_supervisor.source.followed import Origin

BUDGET = 32 << 20
"""Bytes copied from one round of the monitor to the next, 15 to 30 ms: a log of gigabytes does not stop its other work.
"""
_BLOCK = 1 << 20
_LATE_S = 60.0
"""So long after a rotation the old file is looked at for what a slow writer still puts there."""
_TAIL = 64
"""So many bytes before the place that is read next must be what was copied, or the file was written anew."""


class Copies:
    """The copies of all logs of one attached job."""

    def __init__(
        self, directory: RunDirectory, timeline: Journal, logs: Iterable[Mapping[str, Any]],
        *, known: Mapping[str, FollowedLog],
    ) -> None:  # fmt: skip
        self._copies = [
            (Packed if log["packed"] else Copy)(
                str(log["path"]),
                directory.log(str(log["member"]), str(log["stream"])),
                Story(timeline, name, str(log["path"]), known.get(name, FollowedLog())),
            )
            for log in logs
            for name in [f"{log['member']}/{log['stream']}.log"]
        ]

    def look(self) -> bool:
        """Copies what has come, within the budget; True: there is more to copy at once."""
        share = BUDGET // max(1, len(self._copies))
        return sum(copy.look(share) for copy in self._copies) > 0

    @property
    def are_read(self) -> bool:
        """Whether every log was a compressed one and is read to its end: nothing more will come."""
        return all(isinstance(copy, Packed) and copy.is_read for copy in self._copies)

    def paths(self) -> list[str]:
        """The files whose growth is to be waited for."""
        return [copy.path for copy in self._copies]


class Copy:
    """One log that grows."""

    def __init__(self, path: str, copy: str, story: Story) -> None:
        self.path = path
        self._story = story
        self._out = os.open(copy, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._out).st_size
        self._fd: int | None = None
        self._resumes = story.origin is not None
        self._old: tuple[int, int, float] | None = None
        """Descriptor and copied size of the file before a rotation, and when it was left."""

    def look(self, budget: int) -> bool:
        """Copies at most so many bytes of what has come; True: there is more."""
        try:
            return self._look(budget)
        except OSError as error:
            if self._fd is not None and error.filename is None:
                report(f"{self.path} is not copied: {error.strerror}")
            return False

    def _look(self, budget: int) -> bool:
        if self._fd is None and not (self._resume() if self._resumes else self._open("rotated")):
            return False
        self._look_at_old()
        end = self._size + budget
        while self._size < end:
            if not self._copy_block():
                return self._at_end()
        return True

    def _copy_block(self) -> bool:
        """False at the end of the source."""
        origin = self._story.origin
        if self._fd is None or origin is None:
            return False
        if self._size < origin.at:  # the separator
            self._size += os.write(self._out, b"\n")
        offset = self._size - origin.at
        if os.fstat(self._fd).st_size == offset:
            return False
        keep = min(_TAIL, offset)
        block = os.pread(self._fd, keep + _BLOCK, offset - keep)
        if block[:keep] != os.pread(self._out, keep, self._size - keep):
            self._begin("truncated")
            return True
        self._size += os.write(self._out, block[keep:])
        return len(block) > keep

    def _at_end(self) -> bool:
        """All of the open file is copied: is it still the one at the path? True: another one is to be read now.

        A new file that is still empty waits: until it reopens, the writer writes to the old one.
        """
        try:
            found = os.stat(self.path)
        except OSError as error:
            self._story.missing(_why(error, "deleted"))
            return False
        origin = self._story.origin
        if origin is None or (found.st_dev, found.st_ino) == (origin.dev, origin.inode):
            self._story.back()
            return False
        if not found.st_size or self._copy_block():  # what came to the old one between the two looks
            return bool(found.st_size)
        return self._open("rotated")

    def _open(self, why: str) -> bool:
        fd = self._opened(self.path)
        if fd is None:
            return False
        self._take(fd)
        self._begin(why)
        return True

    def _opened(self, path: str) -> int | None:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            self._story.missing(_why(error, "not there yet" if self._story.origin is None else "deleted"))
            return None
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            self._story.missing("not a regular file")
            return None
        return fd

    def _take(self, fd: int) -> None:
        self._leave_old()
        origin = self._story.origin
        if self._fd is not None and origin is not None:
            self._old = (self._fd, self._size - origin.at, time.monotonic())
        self._fd = fd

    def _look_at_old(self) -> None:
        """What comes to a file whose successor is being copied already is in no copy: that is said."""
        if self._old is None:
            return
        fd, size, since = self._old
        late = os.fstat(fd).st_size - size
        if late > 0:
            self._story.missed(f"{late} bytes came to the old file when the new one was being read already")
        if late > 0 or time.monotonic() - since > _LATE_S:
            self._leave_old()

    def _leave_old(self) -> None:
        if self._old is not None:
            os.close(self._old[0])
            self._old = None

    def _begin(self, why: str) -> None:
        """The open file is copied from its beginning; a line that the last one left open must not run into it."""
        if self._fd is not None:
            open_line = self._size > 0 and os.pread(self._out, 1, self._size - 1) != b"\n"
            self._story.begin(os.fstat(self._fd), self._size + open_line, why)

    def _resume(self) -> bool:
        """Goes on where another monitor ended: in the same file, wherever it is now."""
        origin = self._story.origin
        path = self.path if origin is None else _path_of(origin, self.path)
        if path is None:
            fd = self._opened(self.path)
            if fd is None:
                return False
            self._story.missed("it was replaced while no monitor ran, and the rest of the old one is gone")
        else:
            fd = self._opened(path)
            if fd is None:
                return False
        self._resumes = False
        self._take(fd)
        if path is None:
            self._begin("rotated")
        return True


def _why(error: OSError, absent: str) -> str:
    return absent if isinstance(error, FileNotFoundError) else error.strerror or str(error)


def _path_of(origin: Origin, path: str) -> str | None:
    """Where the file of that origin is: at its path, or beside it under the name that a rotation gave it."""
    folder = os.path.dirname(path)
    for candidate in (path, *(f"{folder}/{name}" for name in _names(folder))):
        try:
            found = os.stat(candidate)
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (origin.dev, origin.inode):
            return candidate
    return None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
