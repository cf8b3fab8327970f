"""The loop that owns the ranks. It runs in the worker, and in the guard after the worker's death.

It ends when no process of the run is left and everything is on record, and for no other reason: an error in one round
is reported and the next round follows.
"""

from __future__ import annotations

import signal
import time

from grpotui_supervisor.shim import control, exits, kernel, signalling, stopping
from grpotui_supervisor.shim.journal import report
from grpotui_supervisor.shim.observing import Observer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from grpotui_supervisor.shim.job import Job

_LONGEST_S = 1.0


def prepare(job: Job) -> None:
    """Signal handlers and poll set of the process that runs the loop; called once in it, before anything starts."""

    def ask(number: int, _frame: FrameType | None) -> None:
        job.signals.append(number)

    def wake(_number: int, _frame: FrameType | None) -> None:
        """SIGCHLD and SIGUSR1 only end the sleep; what happened is looked up."""

    for number in kernel.STOP_SIGNALS:
        signal.signal(number, ask)
    for number in (signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(number, wake)
    try:
        kernel.become_subreaper()
        job.open_poll(kernel.wakeup_pipe())
    finally:
        kernel.let_signals_in()


def run(job: Job) -> None:
    """Follows the run to its end."""
    observer = Observer() if job.spec.observe else None
    most = 0.0  # what the start or the takeover left to do must not wait for the first sleep to end
    while True:
        try:
            if _round(job, observer, most):
                return
        except Exception as error:  # noqa: BLE001  (the ranks have no other owner: it must go on)
            report(f"{type(error).__name__}: {error}")
            time.sleep(0.2)
        most = _LONGEST_S


def _round(job: Job, observer: Observer | None, most: float) -> bool:
    now = job.now()
    seconds = 0.0 if job.signals else min(most, job.stopping.seconds_to_next(now))
    if observer is not None:
        seconds = min(seconds, observer.seconds_to_next(now))
    before = len(job.table.ended)
    exits.collect(job, job.ready(seconds))
    control.obey(job)
    stopping.decide(job)
    if signalling.is_due(job):
        exits.collect(job, job.ready(0))  # a death of its own must not be taken for one of ours
        signalling.carry_out(job)
    if observer is not None:  # last: a fault in it must not keep a stop from being carried out
        if len(job.table.ended) != before:
            observer.stir(now)
        observer.look(job)
    _note_ranks_done(job)
    return _finish(job) if job.is_over() else False


def _note_ranks_done(job: Job) -> None:
    if job.ranks_done_m is None and not any(m.leads for m in job.table.members.values()):
        job.ranks_done_m = job.now()
        left = [{"pid": pid, "name": name} for pid, name in job.leftovers()]
        job.journal.add("ranks_done", leftovers=left)
        job.journal.sync()


def _finish(job: Job) -> bool:
    if not job.done_recorded:
        job.done_recorded = True
        job.journal.add("done")
    if not job.journal.flush():
        time.sleep(0.2)  # nobody is left to watch, and the last lines still wait for the disk
        return False
    job.journal.sync()
    return True
