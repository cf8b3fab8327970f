"""Rebuilding the table from the record: after the worker's death in the guard, or in adopt mode after both died.

Each recorded process that has no recorded end is looked for: as our child, as a living process of the recorded start
time, or it is lost.
"""

from __future__ import annotations

import os
import time

from grpotui_supervisor.shim import exits, procfs, spawning, stopping
from grpotui_supervisor.shim.members import Member
from grpotui_supervisor.shim.past import Past

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpotui_supervisor.shim.job import Job
    from grpotui_supervisor.shim.specification import Start

_SECOND = 1_000_000_000
_RENEWAL_S = 5.0


def rebuild(job: Job) -> Past:
    """Brings the job to where the record and the process table say it is."""
    past = Past()
    past.take(job.journal.read())
    _resume_stopping(job, past)
    job.handled_requests |= past.requests
    job.ranks_done_m, job.done_recorded = past.ranks_done_m, past.done
    job.worker_failure = past.worker_failure
    job.table.ended |= set(past.ended.values())
    _reap_recorded(job, past)
    for (pid, start), orphan in past.orphans.items():
        if _is_child(pid) or procfs.is_alive(pid, start):
            job.table.orphans[pid] = orphan
    for member in past.open.values():
        _resume_member(job, member)
    exits.adopt(job)
    return past


def finish_spawning(job: Job, past: Past) -> None:
    """Goes on with a start that the worker's death cut short, unless something has failed or was stopped."""
    if past.spawn_done:
        return
    for start in job.spec.starts:
        if start.member in past.attempted - past.started:
            child = _unrecorded_child(job, start)
            if child is not None:
                job.table.orphans.pop(child, None)
                spawning.spawned(job, start, child, recovered=True)
                past.started.add(start.member)
    spawning.spawn_all(job, [s for s in job.spec.starts if s.member not in past.started])


def _unrecorded_child(job: Job, start: Start) -> int | None:
    """The process of a start whose `spawned` was not written: our child, in its own session, with the mark.

    It may have been left between fork and exec, where it still looks like the shim: such a child is waited for.
    """
    deadline = job.now() + _SECOND
    while True:
        unknown = [pid for pid in procfs.children(os.getpid()) if pid not in job.table.members]
        for pid in unknown:
            found = procfs.stat(pid)
            if found is None or found.sid != pid:
                continue
            if found.state == "Z" or procfs.environment(pid).get(procfs.MEMBER_MARK) == start.member:
                return pid
        if not any(_before_exec(pid) for pid in unknown) or job.now() > deadline:
            return None
        time.sleep(0.005)


def _before_exec(pid: int) -> bool:
    return procfs.RUN_MARK not in procfs.environment(pid) and procfs.is_running(pid)


def _reap_recorded(job: Job, past: Past) -> None:
    """Children whose end is on record but who were not reaped yet: they must not be recorded twice."""
    for (pid, start), name in past.ended.items():
        found = procfs.stat(pid)
        if found is not None and found.start == start and found.state == "Z" and _is_child(pid):
            exits.record_usage(job, pid, name)
    for pid, start in past.orphans_ended:
        found = procfs.stat(pid)
        if found is not None and found.start == start and found.state == "Z" and _is_child(pid):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG)


def _resume_member(job: Job, member: Member) -> None:
    if _is_child(member.pid):
        member.child = True
    elif not procfs.is_alive(member.pid, member.start):
        event = "lost" if member.owned else "not_observable"
        reason = "it ended while no shim was there to see it"
        job.journal.add(event, **member.named(), reason=reason, sent=list(member.sent))
        job.table.ended.add(member.member)
        return
    job.watch(member)


def _is_child(pid: int) -> bool:
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _resume_stopping(job: Job, past: Past) -> None:
    state = job.stopping
    state.asked, state.kept = past.asked, past.kept
    now = job.now()
    if past.first_failure_m is not None:
        state.failed_m = past.first_failure_m
        state.failure_deadline = past.first_failure_m + int(state.limits.grace * _SECOND)
    elif past.failures:
        first = past.failures[0]
        member = Member(
            str(first["member"]), int(first.get("pid") or 0), 0, rank=first["rank"], role=str(first["role"])
        )
        keys = ("how", "code", "signal", "signo", "core", "errno", "error")
        how: dict[str, Any] = {key: first[key] for key in keys if key in first}
        stopping.fail(job, member, how or {"how": "failed_to_start"})
    if past.hold_m > now:  # the monitor renews it; until then it must not run out because we are new
        state.hold_until = now + int(_RENEWAL_S * _SECOND)
    if past.last_stop is not None:
        _resume_plan(state, past.last_stop, now)
    elif past.asked:
        state.ask("stop", "asked for before the takeover")


def _resume_plan(state: stopping.Stopping, last: dict[str, Any], now: int) -> None:
    """The recorded step may not have been sent any more; the next one follows in any case."""
    state.begin(str(last["plan"]), str(last["why"]))
    if state.plan is None:
        return
    names = [name for name, _ in state.plan.steps]
    state.plan.index = names.index(str(last["signal"])) if last["signal"] in names else -1
    if state.plan.index >= 0:
        seconds = min(state.plan.steps[state.plan.index][1], state.limits.terminate)
        state.plan.deadline = max(now, int(last["m"]) + int(seconds * _SECOND))
