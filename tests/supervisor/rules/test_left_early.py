"""A rank that exits 0 while its peers live on and training is not complete."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from grpotui_supervisor.model.events import Clock, Event, Launched, MemberEnded, MemberStarted, Progress, StopAsked
from grpotui_supervisor.rules.left_early import State, advance

if TYPE_CHECKING:
    from grpotui_supervisor.model.finding import Finding

S = 1_000_000_000


def findings(events: list[Event]) -> list[Finding]:
    def step(pair: tuple[State, list[Finding]], event: Event) -> tuple[State, list[Finding]]:
        state, found = advance(pair[0], event)
        return state, [*pair[1], *found]

    start: tuple[State, list[Finding]] = (State(), [])
    return reduce(step, events, start)[1]


START: list[Event] = [
    Launched(grace_ns=10 * S),
    MemberStarted(m=0, member="0", rank=0),
    MemberStarted(m=0, member="1", rank=1),
]
LEFT = MemberEnded(m=5 * S, member="1", clean=True)


def progress(step: int | None, total: int | None, *, complete: bool = False) -> Progress:
    return Progress(m=4 * S, step=step, steps_total=total, training_complete=complete)


def test_raised_once_when_the_grace_has_passed() -> None:
    events = [*START, progress(3, 20), LEFT, Clock(m=14 * S), Clock(m=16 * S), Clock(m=60 * S)]
    (found,) = findings(events)
    assert (found.member, found.step, found.severity) == ("1", 3, "critical")
    assert findings(events[:-2]) == []


def test_never_where_the_log_cannot_tell() -> None:
    for unknown in (progress(None, 20), progress(3, None), progress(20, 20), progress(3, 20, complete=True)):
        assert findings([*START, unknown, LEFT, Clock(m=60 * S)]) == []
    assert findings([*START, LEFT, Clock(m=60 * S)]) == []


def test_not_when_the_peers_end_too_or_something_else_is_the_story() -> None:
    base = [*START, progress(3, 20), LEFT]
    assert findings([*base, MemberEnded(m=6 * S, member="0", clean=True), Clock(m=60 * S)]) == []
    assert findings([*base, MemberEnded(m=6 * S, member="0", clean=False), Clock(m=60 * S)]) == []
    assert findings([*base, StopAsked(m=6 * S), Clock(m=60 * S)]) == []
