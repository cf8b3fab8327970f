"""Ending processes: what a failure, a stop, companions and leftovers lead to, and the signals that carry it out.

One plan at a time is under way. Its signals are recorded before they are sent, so that whoever takes over knows
which deaths were ours. The caller notes every death before it lets a due plan act (`is_due`), so that a process that
died by itself is not taken for one that we ended.
"""

from __future__ import annotations

import os
import signal

from grpotui_supervisor.shim import ending, pidfd, procfs
from grpotui_supervisor.shim.journal import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.shim.job import Job
    from grpotui_supervisor.shim.members import Member, Orphan, Process
    from grpotui_supervisor.shim.specification import Limits

_SECOND = 1_000_000_000
_NEVER = 1 << 62
_KILL_AGAIN_S = 0.2
ASKED = ("interrupt", "stop", "kill")
"""Plans that a person asked for."""
_ORDER = ("companions", "leftovers", "failure", *ASKED)


class Plan:
    """A series of signals with the seconds that follow each. The last one is repeated until nobody is left."""

    __slots__ = ("deadline", "index", "killed_m", "kind", "steps", "told", "unkillable", "why")

    def __init__(self, kind: str, why: str, steps: list[tuple[str, float]]) -> None:
        self.kind = kind
        self.why = why
        self.steps = steps
        self.index = -1
        self.deadline = 0
        self.killed_m: int | None = None
        self.told: set[int] = set()
        self.unkillable = False

    def next_step(self, now: int) -> tuple[str, bool]:
        """Moves on; returns the signal and whether it is a new step of the plan (and not KILL once more)."""
        fresh = self.index < len(self.steps) - 1
        self.index = min(self.index + 1, len(self.steps) - 1)
        name, seconds = self.steps[self.index]
        self.deadline = now + int(seconds * _SECOND) if seconds < _NEVER else _NEVER
        if name == "SIGKILL" and self.killed_m is None:
            self.killed_m = now
        if fresh:
            self.told.clear()
        return name, fresh


class Stopping:
    """Everything that decides whether, when and how processes are ended."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.plan: Plan | None = None
        self.asked = False
        """A person asked for a stop: from then on no death counts as a failure."""
        self.failed_m: int | None = None
        self.failure_deadline = 0
        self.hold_until = 0
        self.hold_why: str | None = None
        self.left_since: int | None = None
        self.kept = False

    def steps(self, kind: str) -> list[tuple[str, float]]:
        """The signals of a plan of that kind."""
        kill = ("SIGKILL", _KILL_AGAIN_S)
        if kind == "kill":
            return [kill]
        terminate = ("SIGTERM", self.limits.terminate)
        if kind == "stop":
            return [("SIGINT", self.limits.interrupt), terminate, kill]
        if kind == "interrupt":
            return [("SIGINT", float(_NEVER)), terminate, kill]
        return [terminate, kill]  # failure, companions, leftovers

    def begin(self, kind: str, why: str) -> None:
        """Puts a plan in force. A stop that a person asked for replaces any other, and KILL replaces a stop."""
        if self.plan is not None and _ORDER.index(self.plan.kind) >= _ORDER.index(kind):
            return
        self.plan = Plan(kind, why, self.steps(kind))

    def ask(self, kind: str, why: str) -> None:
        """A person wants the run to end: `interrupt`, `stop` or `kill`."""
        self.asked = True
        if kind == "interrupt" and self.plan is not None and self.plan.kind == "interrupt":
            self.plan = None  # asked for once more: INT is sent once more
        self.begin(kind, why)

    def hold(self, now: int, seconds: float) -> int:
        """Puts off the end of the peers, at most `teardown_grace` seconds after the failure; returns until when."""
        if self.failed_m is None:
            return 0
        limit = self.failed_m + int(self.limits.teardown_grace * _SECOND)
        self.hold_until = min(now + int(seconds * _SECOND), limit)
        return self.hold_until

    def seconds_to_next(self, now: int) -> float:
        """How long the loop may sleep."""
        if self.plan is not None:
            return max(0.0, min(1.0, (self.plan.deadline - now) / _SECOND))
        if self.failed_m is not None or (self.left_since is not None and not self.kept):
            return 0.1
        return 1.0


def note_end(job: Job, member: Member) -> None:
    """Draws the consequences of an end: a failure starts the grace of the peers."""
    state, found = job.stopping, member.ending
    if found is None or found["how"] == "not_observable":
        return
    if state.plan is not None and state.plan.kind == "interrupt" and member.leads and state.plan.index == 0:
        state.plan.deadline = job.now() + int(state.limits.terminate * _SECOND)  # the others must not wait for ever
    if not ending.is_failure(found) or member.sent or state.asked:
        return
    if not member.leads:
        if not member.owned and member.rank is not None:
            job.worker_failure = job.worker_failure or member
        return
    cause = job.worker_failure if member.role == "driver" and job.worker_failure else member
    fail(job, cause, cause.ending or found)


def fail(job: Job, member: Member, how: Mapping[str, object], *, grace: float | None = None) -> None:
    """Records the first failure and starts the grace of its peers; later ones change nothing."""
    state = job.stopping
    if state.failed_m is not None:
        return
    state.failed_m = job.now()
    seconds = state.limits.grace if grace is None else grace
    state.failure_deadline = state.failed_m + int(seconds * _SECOND)
    job.journal.add("first_failure", **member.named(), **how)


def decide(job: Job) -> None:
    """Puts the plan in force that the state of the run asks for."""
    now, state = job.now(), job.stopping
    if not job.table.alive(leading=True):
        _after_ranks(job, now)
    elif state.failed_m is not None and now >= max(state.failure_deadline, state.hold_until):
        state.begin("failure", "a rank failed")


def is_due(job: Job) -> bool:
    """Whether signals are to be sent now."""
    return job.stopping.plan is not None and job.now() >= job.stopping.plan.deadline


def _after_ranks(job: Job, now: int) -> None:
    state, companions = job.stopping, job.table.alive(role="companion")
    if state.plan is not None and state.plan.kind in ASKED:
        if any(m.pid not in state.plan.told for m in companions):
            state.plan.deadline = now  # they were spared while the ranks lived
        return
    if companions:
        state.plan = None if state.plan and state.plan.kind == "failure" else state.plan
        state.begin("companions", "every rank has ended")
        return
    if state.plan is not None and state.plan.kind != "leftovers":
        state.plan = None  # it was for the peers or companions, and they are gone
    left = job.leftovers()
    if not left:
        state.left_since = None
        return
    if state.left_since is None:
        state.left_since = now
    if state.plan is None and now >= state.left_since + int(state.limits.leftover_grace * _SECOND):
        _judge_leftovers(job, left)


def _judge_leftovers(job: Job, left: list[tuple[int, str]]) -> None:
    state = job.stopping
    if not state.limits.keep_leftovers:
        state.begin("leftovers", "processes of the run outlived its ranks")
    elif not state.kept:
        state.kept = True
        job.journal.add("leftovers", policy="keep", processes=[{"pid": pid, "name": name} for pid, name in left])


def carry_out(job: Job) -> None:
    """Sends the next signal of the plan to everybody it is for."""
    plan, now = job.stopping.plan, job.now()
    if plan is None:
        return
    members, orphans = _targets(job, plan)
    everybody: list[Process] = [*members, *orphans]
    if not everybody:
        plan.deadline = now + int(_KILL_AGAIN_S * _SECOND)
        return
    name, fresh = plan.next_step(now)
    if fresh or any(p.pid not in plan.told for p in everybody):
        job.journal.add(
            "stop",
            plan=plan.kind,
            why=plan.why,
            signal=name,
            members=[m.member for m in members],
            orphans=[o.pid for o in orphans],
        )
    for process in everybody:
        if process.pid not in plan.told:
            process.sent.append(name)
            plan.told.add(process.pid)
        _signal(process, signal.Signals[name])
    _note_unkillable(job, plan, now)


def _targets(job: Job, plan: Plan) -> tuple[list[Member], list[Orphan]]:
    leading, companions = job.table.alive(leading=True), job.table.alive(role="companion")
    orphans, observed = job.table.living_orphans(), [m for m in job.table.alive() if not m.owned]
    if plan.kind == "failure":
        return leading, []
    if plan.kind == "companions":
        return companions, []
    if plan.kind == "leftovers":
        return observed, orphans
    if leading and plan.kind != "kill":
        return leading, orphans
    return [*leading, *observed, *companions], orphans


def _signal(process: Process, number: signal.Signals) -> None:
    """To its whole group when it leads one; CONT after it, since a stopped process acts on nothing but KILL.

    An unreaped child pins its pid; any other process is reached through a pidfd of the recorded start time.
    """
    if process.child:
        _signal_child(process.pid, number)
        return
    fd = pidfd.open_verified(process.pid, process.start)
    if fd is None:
        return
    try:
        pidfd.send(fd, number)
        pidfd.send(fd, signal.SIGCONT)
    finally:
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
    if now < plan.killed_m + int(job.stopping.limits.unkillable * _SECOND):
        return
    plan.unkillable = True
    plan.steps[-1] = ("SIGKILL", 5.0)
    pids = [m.pid for m in job.table.alive()] + [o.pid for o in job.table.living_orphans()]
    states = {str(pid): found.state for pid in pids if (found := procfs.stat(pid)) is not None}
    job.journal.add("unkillable", pids=pids, states=states)
