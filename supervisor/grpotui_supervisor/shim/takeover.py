"""Rebuilding the table from the record: after the worker's death in the guard, or in adopt mode after both died.

Each recorded process that has no recorded end is looked for: as our child, as a living process of the recorded start
time, or as a zombie of it; otherwise it is lost.
"""

from __future__ import annotations

import signal

from grpotui_supervisor.shim import kernel, procfs, stopping, unrecorded
from grpotui_supervisor.shim.past import Past
from grpotui_supervisor.shim.plans import ORDER, SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpotui_supervisor.shim.job import Job
    from grpotui_supervisor.shim.members import Member, Process

_RENEWAL_S = 5.0
_AT_ONCE = ("failed_to_start", "left_early")
"""Failures whose peers get no grace."""


def take_over(job: Job, *, may_start: bool) -> None:
    """Brings the job to where the record and the process table say it is, and ends a start that was cut short.

    `may_start`: what is not there yet can be started. Not in adopt mode, and not after the record was lost: it would
    not be known what has been started already.
    """
    past = Past()
    past.take(job.journal.read())
    job.recorded_requests |= past.requests
    job.ranks_done_m, job.done_recorded = past.ranks_done_m, past.done
    job.worker_failure = past.worker_failure
    _resume_processes(job, past)
    _resume_stopping(job, past)
    job.signals[:] = [number for number in job.signals if _is_news(number, past.asked)]
    unrecorded.finish_spawning(job, past, may_start=may_start)


def _is_news(number: int, asked: str | None) -> bool:
    """Whether a signal that the guard has passed on asks for more than the worker put on record before it died."""
    return asked is None or ORDER.index(kernel.STOP_SIGNALS[signal.Signals(number)]) > ORDER.index(asked)


def _resume_processes(job: Job, past: Past) -> None:
    here = past.place in (None, (procfs.boot_id(), procfs.pid_namespace()))
    for member in past.ended.values():
        job.table.ended.add(member.member)
        if _is_ours(member):  # on record but not reaped; it must not be recorded twice
            member.child = True
            job.table.members[member.pid] = member
    for orphan in [*past.orphans_ended.values(), *past.orphans.values()]:
        orphan.child = _is_ours(orphan)
        if orphan.child or (orphan.ending is None and here):
            job.table.orphans[orphan.pid] = orphan
    for member in past.open.values():
        if not here:
            _lose(job, member)
            continue
        member.child = _is_ours(member)
        job.watch(member)


def _is_ours(process: Process) -> bool:
    """Whether it is our child: a child's pid is pinned until we reap it, but the record may be older than the child."""
    if not kernel.is_child(process.pid):
        return False
    found = procfs.stat(process.pid)
    return found is None or process.start in (0, found.start)


def _lose(job: Job, member: Member) -> None:
    event = "lost" if member.owned else "not_observable"
    reason = "the host was rebooted, or its pid namespace is gone"
    job.journal.add(event, **member.named(), reason=reason, sent=list(member.sent))
    job.table.ended.add(member.member)


def _resume_stopping(job: Job, past: Past) -> None:
    state, now = job.stopping, job.now()
    state.asked, state.kept, state.one_ended = past.asked is not None, past.kept, past.one_ended
    if past.first_failure is not None:
        state.failed_m = min(past.first_failure["m"], now)
        grace = 0.0 if past.first_failure.get("how") in _AT_ONCE else state.limits.grace
        state.failure_deadline = state.failed_m + int(grace * SECOND)
    elif past.cause is not None:
        member, how = past.cause
        stopping.fail(job, member, how, grace=0 if how["how"] in _AT_ONCE else None)
    if past.last_stop is not None:
        _resume_plan(job, past.last_stop, now)
    if past.asked is not None and (state.plan is None or ORDER.index(state.plan.kind) < ORDER.index(past.asked)):
        state.begin(past.asked, "asked for before the takeover")
    elif past.was_held and state.failed_m is not None:
        state.hold(now, _RENEWAL_S)  # the monitor renews it; until then it must not run out because we are new


def _resume_plan(job: Job, last: dict[str, object], now: int) -> None:
    """The recorded signal may not have been sent any more; the next one follows in any case."""
    state, name = job.stopping, str(last["signal"])
    state.begin(str(last["plan"]), str(last.get("why")))
    if state.plan is None:
        return
    state.plan.resume(name, min(int(str(last["m"])), now))
    if state.one_ended:
        state.plan.limit_interrupt(now, state.limits.terminate)
    processes: list[Process] = [*job.table.alive(), *job.table.living_orphans()]
    state.plan.told |= {(p.pid, p.start) for p in processes if p.sent and p.sent[-1] == name}
