"""Which live run of a state root has claimed a device, and the lock under which a launch looks and claims.

A run claims the devices that its run.json names as its own, for as long as its shim lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import TYPE_CHECKING, Any

from grpotui_supervisor import rundir
from grpotui_supervisor.errors import GrpotuiError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCK = "gpus.lock"
_POLL_SECONDS = 0.02


def live_runs(root: str) -> list[rundir.RunDirectory]:
    """Runs with a living shim, newest first; an ended one costs the look at its lock."""
    return [directory for directory in rundir.runs(root) if directory.is_locked("shim.lock")]


def claims(root: str) -> dict[str, str]:
    """Run id by the UUID of each device that a live run has as its own."""
    found: dict[str, str] = {}
    for directory in live_runs(root):
        try:
            facts = directory.facts()
        except GrpotuiError:
            continue
        for device in own_devices(facts):
            found.setdefault(str(device.get("uuid")), directory.run_id)
    return found


def own_devices(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The devices that run.json names as the run's own; none where it had no baseline."""
    gpus = facts.get("gpus")
    devices = gpus.get("devices") if isinstance(gpus, dict) else None
    listed = devices if isinstance(devices, list) else []
    return [device for device in listed if isinstance(device, dict) and device.get("in_run") and device.get("uuid")]


@contextlib.contextmanager
def locked(root: str, seconds: float) -> Iterator[bool]:
    """Holds the lock of the root; False: it was not to be had in that time, or cannot be held on this file system.

    Raises:
        RunDirectoryError: the root is unsafe, or cannot be made.
    """
    rundir.make_root(root)
    try:
        fd = os.open(f"{root}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield False
        return
    try:
        yield _take(fd, time.monotonic() + seconds)
    finally:
        os.close(fd)


def _take(fd: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
        except OSError:
            return False
        else:
            return True
        time.sleep(_POLL_SECONDS)
