"""Exits that the opt-in wrapper recorded, laid over what the shim could see of a launcher's workers."""

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from grpotui_supervisor.model.members import Member, failed
from grpotui_supervisor.model.run_state import FirstFailure, Record, RunState, ending


def overlay(state: RunState, records: Iterable[Record]) -> RunState:
    """The state with each wrapped member's end as its wrapper saw it: the only place that knows the core flag.

    `records` are the `exit` lines of `ranks/*/wrapper-*.jsonl`. A member whose end is still open stays open.
    """
    members = dict(state.members)
    causes: list[FirstFailure] = []
    for record in records:
        member = _wrapped(members, record)
        if member is None:
            continue
        found = ending(record)
        members[member.key] = replace(member, state=found)
        if failed(found) and not member.sent:
            causes.append(FirstFailure(member=member.key, rank=member.rank, state=found, m=record["m"]))
    state = replace(state, members=MappingProxyType(members))
    return _blame(state, causes)


def _wrapped(members: dict[str, Member], record: Record) -> Member | None:
    wrapper, rank = record.get("wrapper"), record.get("rank")
    fitting = [m for m in members.values() if m.rank == rank and not m.is_open]
    return next((m for m in fitting if m.pid == wrapper), fitting[0] if len(fitting) == 1 else None)


def _blame(state: RunState, causes: list[FirstFailure]) -> RunState:
    """A launcher's failure is its first failed worker's, when a wrapper saw one that the shim could not."""
    first = state.first_failure
    if first is None or first.member != "driver" or not causes:
        return state
    return replace(state, first_failure=min(causes, key=lambda cause: cause.m))
