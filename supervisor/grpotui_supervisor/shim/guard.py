"""The guard: parent of the worker and subreaper above it.

When the worker is killed, its ranks become the guard's children, and the guard goes on in its place: a SIGKILL of the
worker loses no status. Both hold the lock of the run; a second shim on the same directory is refused.
"""

from __future__ import annotations

import os
import signal

from grpotui_supervisor.shim import ending, kernel, procfs, spawning, specification, takeover, worker
from grpotui_supervisor.shim.job import Job
from grpotui_supervisor.shim.journal import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

_BUSY = 75  # EX_TEMPFAIL: another shim owns this run


def main(argv: list[str], stream: BinaryIO) -> int:
    """Runs the shim for the run directory `argv[0]`; returns when the run is over."""
    kernel.neutral_signals()
    directory = os.path.abspath(argv[0])
    spec = specification.read(stream)
    _leave_the_launcher()
    if not kernel.take_lock(f"{directory}/shim.lock"):
        report("another shim owns this run")
        return _BUSY
    _free_standard_streams()
    os.chdir("/")
    job = Job(directory, spec)
    kernel.become_subreaper()
    job.journal.begin()  # before the fork: a record without a header is then known to be damaged
    guard = os.getpid()
    kernel.hold_back_signals()
    child = os.fork()
    if child == 0:
        _work(job, guard)
        os._exit(0)  # the guard's stack lies below us
    if not _guard(job, child):
        worker.run(job)
    return 0


def _leave_the_launcher() -> None:
    """Own session, and no child of the launcher: what ends the launcher's tree must not end ours."""
    if os.fork():
        os._exit(0)
    if os.getsid(0) != os.getpid():
        os.setsid()


def _free_standard_streams() -> None:
    """Standard input and output belong to the launcher; a pipe of its must not stay open through us."""
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


def _work(job: Job, guard: int) -> None:
    try:
        starts = [{"member": s.member, "rank": s.rank, "role": s.role} for s in job.spec.starts]
        job.journal.add("shim", **_identity(guard), adopt=job.spec.adopt, starts=starts)
        worker.prepare(job)
        job.watch_guard(guard)
    except Exception as error:  # noqa: BLE001  (no descriptors, or a kernel without subreapers)
        report(f"{type(error).__name__}: {error}")
        spawning.abandon(job, error)
    else:
        _attempt(_begin, job)
    worker.run(job)


def _begin(job: Job) -> None:
    if job.spec.adopt:
        takeover.take_over(job, may_start=False)
    else:
        spawning.spawn_all(job, job.spec.starts)


def _identity(guard: int) -> dict[str, object]:
    own, parent = procfs.stat(os.getpid()), procfs.stat(guard)
    return {
        "worker": os.getpid(),
        "worker_start": own.start if own else None,
        "guard": guard,
        "guard_start": parent.start if parent else None,
    }


def _guard(job: Job, child: int) -> bool:
    """Waits for the worker, and passes on what is asked by signal. False: it was killed, and we are in its place."""
    while (dead := kernel.peek(child)) is None:
        number = kernel.next_signal()
        if number == signal.SIGCHLD:
            continue
        os.kill(child, number)  # unreaped, so the pid is its own even if it is dead
        if number in kernel.STOP_SIGNALS:
            job.signals.append(number)
    if dead.si_code == os.CLD_EXITED and dead.si_status == 0:
        return True
    _take_over(job, dead)
    return False


def _take_over(job: Job, dead: os.waitid_result) -> None:
    is_intact = job.journal.begin()
    job.journal.add("takeover", worker=dead.si_pid, **ending.from_siginfo(dead), **_by())
    _attempt(worker.prepare, job)
    os.waitid(os.P_PID, dead.si_pid, os.WEXITED)
    _attempt(takeover.take_over, job, may_start=is_intact and not job.spec.adopt)


def _attempt(step: Callable[..., None], job: Job, **options: bool) -> None:
    """The ranks have no other owner than us: whatever fails, the loop must be reached."""
    try:
        step(job, **options)
    except Exception as error:  # noqa: BLE001
        report(f"{step.__name__}: {type(error).__name__}: {error}")


def _by() -> dict[str, object]:
    own = procfs.stat(os.getpid())
    return {"guard": os.getpid(), "guard_start": own.start if own else None}
