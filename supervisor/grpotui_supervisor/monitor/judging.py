"""From records to findings: turns what is recorded into the events that the rules see, and writes what they find."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.model.events import Clock, Launched, MemberEnded, MemberStarted, Progress, StopAsked
from grpotui_supervisor.model.members import LEADING
from grpotui_supervisor.rules import Engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grpotui_supervisor.model.events import Event
    from grpotui_supervisor.model.finding import Finding
    from grpotui_supervisor.source.source import Source

_ASKED = ("interrupt", "stop", "kill")


def event_of(record: Mapping[str, Any]) -> Event | None:
    """The event that a line of ranks.jsonl is to the rules, if any."""
    match record:
        case {"ev": "spawned", "owned": True, "role": str(role), "member": str(member), "rank": rank, "m": int(m)}:
            return MemberStarted(m=m, member=member, rank=rank) if role in LEADING else None
        case {"ev": "exit", "role": str(role), "member": str(member), "code": code, "sent": sent, "m": int(m)}:
            return MemberEnded(m=m, member=member, clean=code == 0 and not sent) if role in LEADING else None
        case {"ev": "request", "what": str(what), "m": int(m)} if what in _ASKED:
            return StopAsked(m=m)
        case _:
            return None


class Judge:
    """The rules of one run, and the findings that are already on record."""

    def __init__(self, source: Source) -> None:
        self._engine = Engine()
        launch = source.facts.get("profile", {}).get("launch", {})
        self._engine.take(Launched(grace_ns=int(float(launch.get("grace_seconds", 10)) * 1e9)))
        self._raised = set(source.findings)

    def look(self, source: Source, records: Iterable[Mapping[str, Any]]) -> list[Finding]:
        """What is found in new records and in the present progress, without what was raised before."""
        moment = source.as_of or 0
        events = [event for record in records if (event := event_of(record)) is not None]
        logs = source.logs
        if logs.reader is not None:
            events.append(
                Progress(
                    m=moment,
                    step=logs.step,
                    steps_total=logs.steps_total,
                    training_complete=logs.training_complete,
                )
            )
        events.append(Clock(m=moment))
        found = [finding for event in events for finding in self._engine.take(event)]
        fresh = [finding for finding in found if (finding.id, finding.member) not in self._raised]
        self._raised.update((finding.id, finding.member) for finding in fresh)
        return fresh


def fields(finding: Finding) -> dict[str, Any]:
    """A finding as fields of its record."""
    return dataclasses.asdict(finding)
