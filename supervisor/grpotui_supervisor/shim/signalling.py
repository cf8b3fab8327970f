"""Carrying a plan out: who gets its signals, and how they are sent.

Signals are recorded before they are sent, so that whoever takes over knows which deaths were ours. A process that is
found dead right before its turn is left out: it died by itself.
"""

from __future__ import annotations

import os
import signal

from grpotui_supervisor.shim import kernel, pidfd, procfs
from grpotui_supervisor.shim.journal import report
from grpotui_supervisor.shim.members import Member
from grpotui_supervisor.shim.plans import PAUSE_NS, SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpotui_supervisor.shim.job import Job
    from grpotui_supervisor.shim.members import Orphan, Process
    from grpotui_supervisor.shim.plans import Plan


def is_due(job: Job) -> bool:
    """Whether signals are to be sent now: the next step, or the present one to processes that joined late."""
    plan, now = job.stopping.plan, job.now()
    if plan is None:
        return False
    if plan.is_due(now):
        return True
    return now >= plan.next_look and any(_key(p) not in plan.told for p in _everybody(*_targets(job, plan)))


def carry_out(job: Job) -> None:
    """Sends the plan's signal to everybody it is for."""
    plan, now = job.stopping.plan, job.now()
    if plan is None:
        return
    members, orphans = _targets(job, plan)
    plan.next_look = now + PAUSE_NS
    if not members and not orphans:
        if plan.is_due(now):
            plan.deadline = now + PAUSE_NS
        return
    if plan.is_due(now):
        plan.advance(now)
    else:  # orphans appear one layer at a time as their parents die; companions follow the ranks
        members = [m for m in members if _key(m) not in plan.told]
        orphans = [o for o in orphans if _key(o) not in plan.told]
        if any(m.role == "companion" for m in members):
            plan.restart(now)
    if job.stopping.one_ended or not job.table.alive(leading=True):
        plan.limit_interrupt(now, job.stopping.limits.terminate)
    _send(job, plan, members, orphans)
    _note_unkillable(job, plan, now)


def _send(job: Job, plan: Plan, members: list[Member], orphans: list[Orphan]) -> None:
    everybody, name = _everybody(members, orphans), plan.signal
    if any(_key(p) not in plan.told for p in everybody):  # and not KILL once more
        job.journal.add(
            "stop",
            plan=plan.kind,
            why=plan.why,
            signal=name,
            members=[m.member for m in members],
            orphans=[o.pid for o in orphans],
        )
    for process in everybody:
        if not _lives(process):
            continue
        if _key(process) not in plan.told:
            process.sent.append(name)
            plan.told.add(_key(process))
        _signal(process, signal.Signals[name])


def _key(process: Process) -> tuple[int, int]:
    return process.pid, process.start


def _everybody(members: list[Member], orphans: list[Orphan]) -> list[Process]:
    return [*members, *orphans]


def _targets(job: Job, plan: Plan) -> tuple[list[Member], list[Orphan]]:
    leading, companions = job.table.alive(leading=True), job.table.alive(role="companion")
    orphans, observed = job.table.living_orphans(), [m for m in job.table.alive() if not m.owned]
    if plan.kind == "failure":
        return leading, []
    if plan.kind == "companions":
        return companions, []
    if plan.kind == "leftovers":
        return [*observed, *companions], orphans  # asked for while companions are being ended, it takes over from that
    if leading and plan.kind != "kill":
        return leading, orphans
    return [*leading, *observed, *companions], orphans


def _lives(process: Process) -> bool:
    try:
        return kernel.peek(process.pid) is None
    except ChildProcessError:
        return procfs.is_alive(process.pid, process.start)


def _signal(process: Process, number: signal.Signals) -> None:
    """To its whole group when it leads one; CONT after it, since a stopped process acts on nothing but KILL.

    An unreaped child pins its pid; any other process is reached through a pidfd of the recorded start time.
    """
    if process.child:
        _signal_child(process.pid, number)
        return
    kept = process.fd if isinstance(process, Member) else None
    fd = pidfd.open_verified(process.pid, process.start) if kept is None else kept
    if fd is None:
        return
    pidfd.send(fd, number)
    pidfd.send(fd, signal.SIGCONT)
    if fd != kept:
        os.close(fd)


def _signal_child(pid: int, number: signal.Signals) -> None:
    try:
        send = os.killpg if os.getpgid(pid) == pid else os.kill
        send(pid, number)
        send(pid, signal.SIGCONT)
    except OSError as error:
        if not isinstance(error, ProcessLookupError):
            report(f"{number.name} to {pid}: {error.strerror}")


def _note_unkillable(job: Job, plan: Plan, now: int) -> None:
    if plan.killed_m is None or plan.unkillable:
        return
    if now < plan.killed_m + int(job.stopping.limits.unkillable * SECOND):
        return
    plan.unkillable = True
    plan.steps[-1] = ("SIGKILL", 5.0)
    pids = [m.pid for m in job.table.alive()] + [o.pid for o in job.table.living_orphans()]
    states = {str(pid): found.state for pid in pids if (found := procfs.stat(pid)) is not None}
    job.journal.add("unkillable", pids=pids, states=states)
