"""The guard: parent of the worker and subreaper above it.

When the worker is killed, its ranks become the guard's children, and the guard goes on in its place: a SIGKILL of the
worker loses no status. Both hold the lock of the run; a second shim on the same directory is refused.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time

from grpotui_supervisor.shim import ending, kernel, procfs, spawning, specification, takeover, worker
from grpotui_supervisor.shim.job import Job
from grpotui_supervisor.shim.journal import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import BinaryIO

_LOCK_TRIES = 25
_BUSY = 75  # EX_TEMPFAIL: another shim owns this run


def main(argv: list[str], stream: BinaryIO) -> int:
    """Runs the shim for the run directory `argv[0]`; returns when the run is over."""
    kernel.neutral_signals()
    directory = os.path.abspath(argv[0])
    spec = specification.read(stream)
    _leave_the_launcher()
    if _lock(directory) is None:
        return _BUSY
    _free_standard_streams()
    os.chdir("/")
    job = Job(directory, spec)
    kernel.become_subreaper()
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        _work(job, guard)
        os._exit(0)  # the guard's stack lies below us
    dead = _guard(child)
    if dead.si_code == os.CLD_EXITED and dead.si_status == 0:
        return 0
    _take_over(job, dead)
    return 0


def _leave_the_launcher() -> None:
    """Own session, and no child of the launcher: what ends the launcher's tree must not end ours."""
    if os.fork():
        os._exit(0)
    if os.getsid(0) != os.getpid():
        os.setsid()


def _lock(directory: str) -> int | None:
    fd = os.open(f"{directory}/shim.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)  # a client that only asks whether we live holds it for microseconds
        else:
            return fd
    report("another shim owns this run")
    return None


def _free_standard_streams() -> None:
    """Standard input and output belong to the launcher; a pipe of its must not stay open through us."""
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


def _work(job: Job, guard: int) -> None:
    try:
        worker.prepare(job)
        job.watch_guard(guard)
        job.journal.begin()
        job.journal.add("shim", **_identity(guard), adopt=job.spec.adopt)
        if job.spec.adopt:
            takeover.rebuild(job)
        else:
            spawning.spawn_all(job, job.spec.starts)
    except Exception as error:  # noqa: BLE001  (the loop must be reached: ranks may have been started)
        report(f"{type(error).__name__}: {error}")
    worker.run(job)


def _identity(guard: int) -> dict[str, object]:
    own, parent = procfs.stat(os.getpid()), procfs.stat(guard)
    return {
        "worker": os.getpid(),
        "worker_start": own.start if own else None,
        "guard": guard,
        "guard_start": parent.start if parent else None,
    }


def _guard(child: int) -> os.waitid_result:
    """Waits for the worker; requests made by signal are passed on to it."""

    def forward(number: int, _frame: FrameType | None) -> None:
        try:
            os.kill(child, number)
        except ProcessLookupError:
            return

    for number in (*kernel.STOP_SIGNALS, signal.SIGUSR1):
        signal.signal(number, forward)
    dead = os.waitid(os.P_PID, child, os.WEXITED)
    if dead is None:  # only with WNOHANG
        sys.exit("waitid gave nothing")
    return dead


def _take_over(job: Job, dead: os.waitid_result) -> None:
    try:
        worker.prepare(job)
        job.journal.begin()
        job.journal.add("takeover", worker=dead.si_pid, **ending.from_siginfo(dead), **_by())
        past = takeover.rebuild(job)
        takeover.finish_spawning(job, past)
    except Exception as error:  # noqa: BLE001  (the ranks have no other owner: it must go on)
        report(f"takeover: {type(error).__name__}: {error}")
    worker.run(job)


def _by() -> dict[str, object]:
    own = procfs.stat(os.getpid())
    return {"guard": os.getpid(), "guard_start": own.start if own else None}
