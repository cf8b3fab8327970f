"""A rank that exited 0 while its peers live on and the log shows training to be incomplete.

Its code says success, and its peers wait for it in a collective for ever. Where the log cannot tell how far training
is, nothing is raised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from grpotui_supervisor.model.events import (
    Clock,
    Event,
    Launched,
    MemberEnded,
    MemberStarted,
    Progress,
    StopAsked,
)
from grpotui_supervisor.model.finding import Finding

ID = "left_early"


@dataclass(frozen=True, slots=True)
class State:
    """What has to be remembered between events."""

    grace_ns: int = 10_000_000_000
    ranks: tuple[tuple[str, int | None], ...] = ()
    alive: frozenset[str] = frozenset()
    left: tuple[str, int] | None = None
    """The first rank that exited 0, and when."""
    step: int | None = None
    steps_total: int | None = None
    complete: bool = False
    settled: bool = False
    """Raised, or no longer possible."""


def advance(state: State, event: Event) -> tuple[State, tuple[Finding, ...]]:
    """The state after the event, and the finding at the moment when the grace has passed."""
    match event:
        case Launched(grace_ns=grace):
            state = replace(state, grace_ns=grace)
        case MemberStarted(member=member, rank=rank):
            state = replace(state, ranks=(*state.ranks, (member, rank)), alive=state.alive | {member})
        case MemberEnded(member=member, clean=clean, m=m):
            state = _ended(state, member, clean=clean, moment=m)
        case Progress(step=step, steps_total=total, training_complete=complete):
            state = replace(state, step=step, steps_total=total, complete=complete)
        case StopAsked():
            state = replace(state, settled=True)
        case Clock():
            pass
    return _judge(state, getattr(event, "m", 0))


def _ended(state: State, member: str, *, clean: bool, moment: int) -> State:
    state = replace(state, alive=state.alive - {member})
    if not clean:
        return replace(state, settled=True)  # a failure of its own: that is the story
    return state if state.left else replace(state, left=(member, moment))


def _judge(state: State, now: int) -> tuple[State, tuple[Finding, ...]]:
    if state.settled or state.left is None or not state.alive or state.complete:
        return state, ()
    if state.step is None or state.steps_total is None or state.step >= state.steps_total:
        return state, ()
    member, left_m = state.left
    if now - left_m <= state.grace_ns:
        return state, ()
    rank = dict(state.ranks)[member]
    peers = "1 peer lives on" if len(state.alive) == 1 else f"{len(state.alive)} peers live on"
    found = Finding(
        id=ID,
        severity="critical",
        step=state.step,
        member=member,
        evidence=f"rank {rank} exited 0 at step {state.step} of {state.steps_total}; {peers}",
        threshold=f"peers alive {state.grace_ns / 1e9:g} s later, training not complete",
        next="read its last lines: it left the training loop by itself (sys.exit, an empty data shard, an early stop)",
    )
    return replace(state, settled=True), (found,)
