"""What the disk shows of the checkpoints that the log names: the file that marks them complete, and the space left.

A thread looks, and the monitor's loop records what it has seen: a dead network mount holds up whoever touches it, for
hours, and must not hold up the record of the logs.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from grpotui_supervisor.logs.checkpoints import Checkpoint
    from grpotui_supervisor.shim.journal import Journal
    from grpotui_supervisor.source.source import Source

_PERIOD_NS = 1_000_000_000
_DISK_NS = 60_000_000_000
_NOTABLE = 0.01
_NEWEST = 5
"""Checkpoints that are still looked at."""
_MARGIN_S = 1.0
"""A log is seen to grow up to a quarter of a second after it did, and clocks of file systems are coarse."""
_TRACKER, _STATE = "latest_checkpointed_iteration.txt", "trainer_state.json"


class _Seen(NamedTuple):
    event: str
    fields: dict[str, Any]
    began_m: int | None = None


class Disks:
    """Looks once a second, as long as the look before has come back."""

    def __init__(self, host: Journal) -> None:
        self._host = host
        self._known: dict[tuple[str, int | None], dict[str, Any]] = {}
        self._disk_m, self._free = 0, -1
        self._looked_m = 0
        self._busy: threading.Thread | None = None
        self._seen: list[_Seen] = []

    def look(self, source: Source, now: int) -> None:
        """Called in every round: records what the last look has found, and starts the next one."""
        if self._busy is not None and self._busy.is_alive():
            return
        seen, self._seen = self._seen, []
        for each in seen:
            self._record(each, now)
        found = source.logs.checkpoints.found[-_NEWEST:]
        if not found or now - self._looked_m < _PERIOD_NS:
            return
        self._looked_m = now
        base = _folder(source)
        self._busy = threading.Thread(target=self._examine, args=(list(found), base), daemon=True)
        self._busy.start()

    def _record(self, seen: _Seen, now: int) -> None:
        fields = seen.fields
        if seen.event == "checkpoint":
            key = fields["path"], seen.began_m  # a run that starts again saves to the same folder
            if self._known.get(key) != fields:
                self._known[key] = fields
                self._host.add("checkpoint", **fields)
        elif now - self._disk_m >= _DISK_NS and abs(fields["free_bytes"] - self._free) > _NOTABLE * max(self._free, 0):
            self._disk_m, self._free = now, fields["free_bytes"]
            self._host.add("disk", **fields)

    def _examine(self, found: list[Checkpoint], base: str | None) -> None:
        seen: list[_Seen] = []
        for one in found:
            folder = _absolute(one.path, base)
            if folder is None or one.evidence is not None or one.began_m is None:
                continue
            mark = marker(one, folder, age_s=(time.monotonic_ns() - one.began_m) / 1e9)
            if mark is not None:
                fields = {"path": one.path, "complete": mark[0], "evidence": mark[1]}
                seen.append(_Seen("checkpoint", fields, one.began_m))
        folder = _absolute(found[-1].path, base)
        space = None if folder is None else space_left(folder)
        self._seen = seen + ([] if space is None else [_Seen("disk", space)])


def marker(one: Checkpoint, folder: str, *, age_s: float) -> tuple[bool, str] | None:
    """Whether the file that the framework writes last is there, and what it says; None where the disk tells nothing.

    verl writes the step into a file beside the folders when it has saved; transformers writes the Trainer's state last
    of all into the folder. A file from before the saving began, `age_s` seconds ago, is an earlier run's.
    """
    if one.step is None:
        return None
    if one.family == "verl":
        found = _start_of(os.path.join(os.path.dirname(folder), _TRACKER))
        if found is None or not found.text.strip().isdigit():
            return None
        reached = int(found.text)
        if reached < one.step:
            return False, f"{_TRACKER} says {reached}"
        return (True, f"{_TRACKER} says {reached}") if found.age_s <= age_s + _MARGIN_S else None
    found = _start_of(os.path.join(folder, _STATE))
    if found is None or found.age_s > age_s + _MARGIN_S:
        return None
    return True, f"{_STATE}, which is written last, is there"


def space_left(folder: str) -> dict[str, Any] | None:
    """The file system of a folder, or of the nearest one above it that exists."""
    while not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return {
        "path": folder,
        "free_bytes": found.f_bavail * found.f_frsize,
        "total_bytes": found.f_blocks * found.f_frsize,
    }


def _folder(source: Source) -> str | None:
    """Where the member that prints the metrics runs: paths in its log are relative to it."""
    member = source.run.members.get(source.logs.metrics_member)
    try:
        return os.readlink(f"/proc/{member.pid}/cwd") if member is not None and member.is_open else None
    except OSError:
        return None


def _absolute(path: str, base: str | None) -> str | None:
    if os.path.isabs(path):
        return path
    return None if base is None else os.path.join(base, path)


class _Start(NamedTuple):
    text: str
    age_s: float
    """Since it was last written."""


def _start_of(path: str) -> _Start | None:
    """The first bytes of a file; nothing is opened in a way that could wait for a writer."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return None
        return _Start(os.read(fd, 32).decode("ascii", "replace"), time.time() - found.st_mtime)
    except OSError:
        return None
    finally:
        os.close(fd)
