"""Who a process is that the driver lists on a device, as far as /proc shows it here.

A listed pid may be of another pid namespace: then it names nobody here, or, worse, somebody else. A process that has
none of the driver's files open, although its descriptors can be looked at, is not the one that is meant.
"""

from __future__ import annotations

import functools
import os
import pwd
from dataclasses import dataclass

from grpotui_supervisor.shim import procfs

_FILES = "/dev/nvidia:/dev/nvhost:/dev/nvmap:/dev/dxg"
"""How the paths of the driver's files begin: on servers, on Jetson, on WSL. `GRPOTUI_GPU_FILES` names others, for tests
without a device."""
_COMM = 15
"""Characters of a name that the kernel keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """A listed process."""

    pid: int
    """As the driver tells it."""
    start: int | None = None
    """Start time in clock ticks since boot; None: no process that can be seen here is meant."""
    name: str | None = None
    user: str | None = None


def who(pid: int) -> Who:
    """The process of that pid, if it is the one that the driver means."""
    found = procfs.stat(pid)
    if found is None or found.has_ended or holds_device(pid) is False:
        return Who(pid=pid)
    return Who(pid=pid, start=found.start, name=name(pid, found.name), user=login(procfs.user(pid)))


def holds_device(pid: int) -> bool | None:
    """Whether a process has one of the driver's files open; None: its descriptors may not be looked at."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    files = tuple(os.environ.get("GRPOTUI_GPU_FILES", _FILES).split(":"))
    return any(_target(f"{folder}/{name}").startswith(files) for name in names)


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def name(pid: int, comm: str) -> str:
    """The kernel's name, in full where the first word of the command line goes on; never any other word of it."""
    title = os.path.basename(procfs.title(pid))
    return title if len(comm) >= _COMM and title.startswith(comm) else comm


@functools.cache
def login(uid: int | None) -> str | None:
    """The name of a user; the number where it has none."""
    try:
        return None if uid is None else pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
