"""What the running kernel can do, found out by doing it."""

import os

from grpotui_supervisor.shim import pidfd


def can_see_foreign_exits() -> bool:
    """Whether PIDFD_GET_INFO gives the exit status of a process that was reaped by somebody else.

    A child exits with 7, is reaped here, and its pidfd is asked afterwards, as it is done with a launcher's workers.
    """
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 7"], {})
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        os.waitpid(pid, 0)
        return False
    try:
        os.waitpid(pid, 0)
        raw = pidfd.exit_status(fd)
    finally:
        os.close(fd)
    return raw is not None and os.waitstatus_to_exitcode(raw) == 7
