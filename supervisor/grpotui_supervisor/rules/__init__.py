"""Rules: each looks at recorded events, one after the other, and says when something is wrong.

A rule is one file with `State` and `advance(state, event) -> (state, findings)`; time is the events' time, so that
the same finding comes out live and in replay. A new rule is one file and one line in `RULES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui_supervisor.rules import left_early

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui_supervisor.model.events import Event
    from grpotui_supervisor.model.finding import Finding

Rule = tuple[Any, "Callable[[Any, Event], tuple[Any, tuple[Finding, ...]]]"]

RULES: tuple[Rule, ...] = ((left_early.State(), left_early.advance),)
"""Initial state and step of every rule."""


class Engine:
    """All rules, fed with one event after the other."""

    def __init__(self) -> None:
        self._states = [state for state, _ in RULES]

    def take(self, event: Event) -> tuple[Finding, ...]:
        """What the rules find in the light of one more event."""
        found: list[Finding] = []
        for index, (_, advance) in enumerate(RULES):
            self._states[index], more = advance(self._states[index], event)
            found.extend(more)
        return tuple(found)
