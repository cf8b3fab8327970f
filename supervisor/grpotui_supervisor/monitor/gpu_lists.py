"""Process lists of the GPUs on record, with whose each process is, on change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from grpotui_supervisor.monitor.gpu_budget import Matters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.gpu.ownership import Owners
    from grpotui_supervisor.model.gpu import ProcessList
    from grpotui_supervisor.model.holders import Holder
    from grpotui_supervisor.model.run_state import RunState
    from grpotui_supervisor.monitor.gpu_budget import Budget

_BYTES_NS = 5_000_000_000
_SHARE, _LEAST_BYTES = 0.01, 16 << 20


@dataclass(frozen=True, slots=True)
class Listed:
    """Who is on a device, as far as can be told."""

    holders: tuple[Holder, ...]
    reason: str | None
    """Why the list cannot be read; None: it was."""


class _Told(NamedTuple):
    listed: Listed
    m: int


class ListsOnRecord:
    """Names the owners, and writes the lists that have changed."""

    def __init__(self, budget: Budget, owners: Owners, *, known: Mapping[str, Any]) -> None:
        """`known`: the last record of each device, by an earlier monitor."""
        self._budget = budget
        self._owners = owners
        self._known = dict(known)
        self._told: dict[str, _Told] = {}
        self._listed: dict[str, Listed] = {}

    def take(self, m: int, lists: Mapping[str, ProcessList], run: RunState, window: Matters) -> dict[str, Listed]:
        """One look at all devices' processes; who they are. `window`: how much anything matters now."""
        holders = self._owners.look({key: one.processes for key, one in lists.items()}, run, m)
        found = {key: Listed(holders[key], one.reason) for key, one in lists.items()}
        self._listed.update(found)
        self._owners.forget(holder for one in self._listed.values() for holder in one.holders)
        for key, listed in found.items():
            self._record(key, listed, m, window)
        return found

    def _record(self, key: str, listed: Listed, m: int, window: Matters) -> None:
        told = self._told.get(key)
        fields = {"gpu": key, "reason": listed.reason, "list": [as_fields(holder) for holder in listed.holders]}
        if told is None and self._known.get(key) == fields:
            self._told[key] = _Told(listed, m)
            return
        matters = Matters.MUCH if told is None else _matters(told.listed, listed, m - told.m)
        if matters is not None and self._budget.allows(min(matters, window), m):
            self._told[key] = _Told(listed, m)
            self._budget.add("processes", **fields)


def as_fields(holder: Holder) -> dict[str, Any]:
    """A process as fields of a record."""
    return asdict(holder)


def _matters(before: Listed, now: Listed, age: int) -> Matters | None:
    """How much the change matters; None: not at all, or not yet."""
    old = {_who(holder): holder.used_bytes for holder in before.holders}
    new = {_who(holder): holder.used_bytes for holder in now.holders}
    if before.reason != now.reason or old.keys() != new.keys():
        return Matters.MUCH
    moved = any(_has_moved(old[who], count) for who, count in new.items())
    return Matters.SOME if moved and age >= _BYTES_NS else None


def _who(holder: Holder) -> tuple[object, ...]:
    return holder.pid, holder.start, holder.name, holder.type, holder.owner, holder.member


def _has_moved(before: int | None, now: int | None) -> bool:
    if before is None or now is None:
        return before is not now
    return now != before and abs(now - before) >= min(_SHARE * before, _LEAST_BYTES)
