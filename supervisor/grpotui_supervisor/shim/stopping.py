"""Ending processes: what a failure, a stop, companions and leftovers lead to, and which plan is then in force.

One plan at a time is under way; `signalling` carries it out.
"""

from __future__ import annotations

from grpotui_supervisor.shim import ending
from grpotui_supervisor.shim.plans import ASKED, ORDER, SECOND, Plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.shim.job import Job
    from grpotui_supervisor.shim.members import Member
    from grpotui_supervisor.shim.specification import Limits


class Stopping:
    """Everything that decides whether, when and how processes are ended."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.plan: Plan | None = None
        self.asked = False
        """A person asked for a stop: from then on no death counts as a failure."""
        self.one_ended = False
        """A rank, or the driver, has ended: the others may wait for it without end."""
        self.failed_m: int | None = None
        self.failure_deadline = 0
        self.hold_until = 0
        self.hold_why: str | None = None
        self.left_since: int | None = None
        self.kept = False

    def begin(self, kind: str, why: str) -> None:
        """Puts a plan in force. A stop that a person asked for replaces any other, and KILL replaces a stop."""
        if self.plan is not None and ORDER.index(self.plan.kind) >= ORDER.index(kind):
            return
        self.plan = Plan(kind, why, self.limits)

    def ask(self, kind: str, why: str) -> None:
        """A person wants the run to end: `interrupt`, `stop` or `kill`."""
        self.asked = True
        if kind == "interrupt" and self.plan is not None and self.plan.kind == "interrupt" and self.plan.index <= 0:
            self.plan = None  # asked for once more: INT is sent once more
        self.begin(kind, why)

    def hold(self, now: int, seconds: float) -> int:
        """Puts off the end of the peers, at most `teardown_grace` seconds after the failure; returns until when.

        0: there is nothing to put off, or it is too late for it.
        """
        if self.failed_m is None or self.plan is not None:
            return 0
        limit = self.failed_m + int(self.limits.teardown_grace * SECOND)
        if now >= limit:
            return 0
        self.hold_until = min(now + int(seconds * SECOND), limit)
        return self.hold_until

    def seconds_to_next(self, now: int) -> float:
        """How long the loop may sleep."""
        due = now + SECOND
        if self.plan is not None:
            due = min(due, self.plan.deadline, max(self.plan.next_look, now + SECOND // 10))
        elif self.failed_m is not None and now < max(self.failure_deadline, self.hold_until):
            due = min(due, max(self.failure_deadline, self.hold_until))
        elif self.left_since is not None and not self.kept:
            due = min(due, self.left_since + int(self.limits.leftover_grace * SECOND))
        return max(0.0, (due - now) / SECOND)


def note_end(job: Job, member: Member) -> None:
    """Draws the consequences of an end: a failure starts the grace of the peers."""
    state, found = job.stopping, member.ending
    if found is None:
        return
    if member.leads:
        state.one_ended = True
        if state.plan is not None:
            state.plan.limit_interrupt(job.now(), state.limits.terminate)
    if found["how"] == "not_observable" or not ending.is_failure(found) or member.sent or state.asked:
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
    state.failure_deadline = state.failed_m + int(seconds * SECOND)
    job.journal.add("first_failure", **member.named(), **how)


def decide(job: Job) -> None:
    """Puts the plan in force that the state of the run asks for."""
    now, state = job.now(), job.stopping
    if not job.table.alive(leading=True):
        _after_ranks(job, now)
    elif state.failed_m is not None and now >= max(state.failure_deadline, state.hold_until):
        state.begin("failure", "a rank failed")


def _after_ranks(job: Job, now: int) -> None:
    state = job.stopping
    if state.plan is not None and state.plan.kind in ASKED:
        return  # it is for companions and leftovers as well
    if job.table.alive(role="companion"):
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
    if state.plan is None and now >= state.left_since + int(state.limits.leftover_grace * SECOND):
        _judge_leftovers(job, left)


def _judge_leftovers(job: Job, left: list[tuple[int, str]]) -> None:
    state = job.stopping
    if not state.limits.keep_leftovers:
        state.begin("leftovers", "processes of the run outlived its ranks")
    elif not state.kept:
        state.kept = True
        job.journal.add("leftovers", policy="keep", processes=[{"pid": pid, "name": name} for pid, name in left])
