"""Exit status of a process that is not our child, through its pidfd.

PIDFD_GET_INFO with PIDFD_INFO_EXIT (Linux 6.15 and newer) gives the wait status of a process that was reaped by
somebody else, if the pidfd was opened while it lived. Layout: `struct pidfd_info` of linux/pidfd.h, 64 bytes, the
mask first and `exit_code` as the 32 bits at offset 60.
"""

from __future__ import annotations

import fcntl
import os
import signal

from grpotui_supervisor.shim import procfs

_GET_INFO = 0xC040FF0B  # _IOWR(0xFF, 11, 64 bytes)
_EXIT = 8
_SIZE = 64


def open_verified(pid: int, start: int) -> int | None:
    """A pidfd of the very process (pid, start), or None when it is gone or the pid is another process's now."""
    try:
        fd = os.pidfd_open(pid)
    except (OSError, ValueError, OverflowError):
        return None
    found = procfs.stat(pid)
    if found is None or found.start != start:
        os.close(fd)
        return None
    return fd


def send(fd: int, number: int) -> bool:
    """Sends a signal to exactly that process; False when it is gone."""
    try:
        signal.pidfd_send_signal(fd, number)
    except OSError:
        return False
    return True


def exit_status(fd: int) -> int | None:
    """Raw wait status from PIDFD_GET_INFO; None while it is not reaped, and on kernels without it."""
    info = bytearray(_SIZE)
    info[0] = _EXIT
    try:
        fcntl.ioctl(fd, _GET_INFO, info)
    except OSError:
        return None
    if not info[0] & _EXIT:
        return None
    return int.from_bytes(info[60:64], "little", signed=True)


def foreign_status(fd: int, pid: int, start: int, *, use_info: bool) -> int | None:
    """Wait status of a dead process that we cannot wait for: from its zombie, else from the pidfd.

    A parent may reap between the two looks, so both are tried twice.
    """
    for _ in range(2):
        raw = procfs.zombie_status(pid, start)
        if raw is None and use_info:
            raw = exit_status(fd)
        if raw is not None:
            return raw
    return None
