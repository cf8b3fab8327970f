"""Memory and CPU of the members and of the machine, and what changed of them around each death."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor import cgroup, host
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from grpotui_supervisor.model.members import Member
    from grpotui_supervisor.shim.journal import Journal
    from grpotui_supervisor.source.source import Source

_SAMPLE_NS: Final = 2_000_000_000
_HEARTBEAT_NS: Final = 10_000_000_000
_NOTABLE: Final = 0.01
"""Change of a size, as a share, that is worth a line before the heartbeat."""

_Identity = tuple[str, int | None, int | None]


@dataclass(frozen=True, slots=True)
class _Before:
    """The last sample of a member that lived, and of what it lived in."""

    m: int
    machine: dict[str, Any]
    place: cgroup.Place | None
    usage: cgroup.Usage | None
    rss_bytes: int | None


class Sampler:
    """Looks every two seconds, and when a member is new or has ended."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._sampled_m = 0
        self._told: dict[str, tuple[int, int]] = {}
        self._counted: tuple[object, ...] = ()
        self._before: dict[_Identity, _Before] = {}
        self._met: set[_Identity] = set()

    def look(self, source: Source) -> None:
        """Called in every round."""
        members = {_identity(m): m for m in source.run.members.values() if m.pid is not None}
        living = {identity: m for identity, m in members.items() if m.is_open}
        ended = [m for identity, m in members.items() if not m.is_open and identity in self._met]
        now = time.monotonic_ns()
        if now - self._sampled_m < _SAMPLE_NS and not ended and living.keys() <= self._met:
            return
        self._sampled_m = now
        machine = host.machine()
        for member in ended:
            self._record_death(member, machine, now)
        self._met = set(living)
        self._sample(list(living.values()), machine, now)

    def _sample(self, members: list[Member], machine: dict[str, Any], now: int) -> None:
        trees = host.trees([m.pid for m in members if m.pid is not None])
        before: dict[_Identity, _Before] = {}
        for member in members:
            tree = trees.get(member.pid or 0)
            if tree is not None and self._is_news(member.key, tree.rss_bytes, now):
                found = {"rss_bytes": tree.rss_bytes, "cpu_s": tree.cpu_s, "processes": tree.processes}
                self._journal.add("member", member=member.key, **found)
            before[_identity(member)] = self._lived(member, machine, tree, now)
        self._before = before
        self._record_host(members, machine, now)

    def _lived(self, member: Member, machine: dict[str, Any], tree: host.Tree | None, now: int) -> _Before:
        """What was before its end: a process that gives its memory back already was killed before this look."""
        known = self._before.get(_identity(member))
        if known is not None and not _has_memory(member.pid or 0):
            return known
        found = cgroup.find(member.pid or 0)
        place = found if isinstance(found, cgroup.Place) else known.place if known else None
        usage = None if place is None else cgroup.read(place)
        return _Before(now, machine, place, usage, None if tree is None else tree.rss_bytes)

    def _record_death(self, member: Member, machine: dict[str, Any], now: int) -> None:
        before = self._before.get(_identity(member))
        if before is None:
            return
        after = None if before.place is None else cgroup.read(before.place)
        self._journal.add(
            "death",
            member=member.key,
            pid=member.pid,
            start=member.start,
            before_age_s=round((now - before.m) / 1e9, 3),
            oom_kills_before=before.machine["oom_kills"],
            oom_kills_after=machine["oom_kills"],
            cgroup_oom_kills_before=before.usage.oom_kills if before.usage else None,
            cgroup_oom_kills_after=after.oom_kills if after else None,
            memory_available_before_bytes=before.machine["memory_available_bytes"],
            memory_available_after_bytes=machine["memory_available_bytes"],
            cgroup_current_before_bytes=before.usage.current_bytes if before.usage else None,
            cgroup_current_after_bytes=after.current_bytes if after else None,
            cgroup_limit_bytes=before.usage.limit_bytes if before.usage else None,
            rss_before_bytes=before.rss_bytes,
        )

    def _record_host(self, members: list[Member], machine: dict[str, Any], now: int) -> None:
        """The machine, with the memory cgroup and the shared memory of the first member of the job."""
        first = min(members, key=lambda m: (not m.leads, m.rank or 0, m.key), default=None)
        pid = None if first is None else first.pid
        fields = {**machine, **host.shared_memory(pid), **_cgroup(first)}
        group = fields["cgroup"] or {}
        counted = (
            machine["oom_kills"],
            *(group.get(name) for name in ("path", "limit_bytes", "oom_kills", "oom_events")),
        )
        sizes = {
            "": machine["memory_available_bytes"],
            ":shm": fields["shm_used_bytes"],
            ":cgroup": group.get("current_bytes"),
            ":swap": machine["swap_free_bytes"],
        }
        moved = [
            key for key, size in sizes.items() if size is not None and self._has_moved(key, size, now, _floor(machine))
        ]
        if moved or counted != self._counted or now - self._told.get("", (0, 0))[1] >= _HEARTBEAT_NS:
            self._counted = counted
            self._told |= {key: (size, now) for key, size in sizes.items() if size is not None}
            self._journal.add("host", **fields)

    def _is_news(self, key: str, value: int, now: int) -> bool:
        if not self._has_moved(key, value, now, 0):
            return False
        self._told[key] = (value, now)
        return True

    def _has_moved(self, key: str, value: int, now: int, floor: int) -> bool:
        before, since = self._told.get(key, (0, 0))
        return abs(value - before) > max(floor, _NOTABLE * before) or now - since >= _HEARTBEAT_NS


def _floor(machine: dict[str, Any]) -> int:
    """A change of what is small beside the machine is none."""
    return int(_NOTABLE * machine["memory_total_bytes"])


def _identity(member: Member) -> _Identity:
    return member.key, member.pid, member.start


def _has_memory(pid: int) -> bool:
    """Whether it has its memory still; one that was killed loses it some seconds before it is gone, if it is large."""
    found = procfs.stat(pid)
    return found is not None and not found.has_ended and found.rss_pages > 0


def _cgroup(member: Member | None) -> dict[str, Any]:
    """`cgroup`, or why there is none to tell."""
    if member is None or member.pid is None:
        return {"cgroup": None, "cgroup_unavailable": "no process of the run is alive"}
    place = cgroup.find(member.pid)
    usage = None if isinstance(place, str) else cgroup.read(place)
    if isinstance(place, str) or usage is None:
        return {"cgroup": None, "cgroup_unavailable": place if isinstance(place, str) else "its memory cgroup is gone"}
    fields = {
        "member": member.key,
        "version": place.version,
        "path": place.folder[len(place.top) :] or "/",
        "current_bytes": usage.current_bytes,
        "limit_bytes": usage.limit_bytes,
        "oom_kills": usage.oom_kills,
        "oom_events": usage.oom_events,
    }
    return {"cgroup": fields, "cgroup_unavailable": None}
