"""Whose a process on a device is: of the run, there before it, another's, or not visible from here.

The driver tells pids, and not always of this pid namespace. A pid alone proves nothing: what counts is the identity
(pid, start time) and that the process holds a device file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grpotui_supervisor.gpu import naming
from grpotui_supervisor.model.holders import Holder
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grpotui_supervisor.model.gpu import GpuProcess
    from grpotui_supervisor.model.holders import Owner
    from grpotui_supervisor.model.run_state import RunState

_AGAIN_NS = 10_000_000_000
"""How often a process is looked at anew that held no device file: a process with many files costs milliseconds."""
_DEEPEST = 64
"""Generations between a process and its member; a tree of processes that changes meanwhile must not be a circle."""

Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What does not change of a process, or seldom."""

    uid: int | None
    member: str | None
    """Value of its member mark."""
    marked: bool
    holds: bool | None
    """Whether it holds a device file; None: its files cannot be read."""
    m: int


class _Look:
    """One look: the run as it is, and each process that was looked up, once."""

    def __init__(self, run: RunState, now: int) -> None:
        self.run = run
        self.now = now
        self.roots = _roots(run)
        self._stats: dict[int, procfs.Stat | None] = {}

    def stat(self, pid: int) -> procfs.Stat | None:
        if pid not in self._stats:
            self._stats[pid] = procfs.stat(pid) if pid > 0 else None
        return self._stats[pid]

    def ancestor(self, identity: Identity, stat: procfs.Stat) -> Identity | None:
        """The nearest process of the run among itself and its parents."""
        for _ in range(_DEEPEST):
            if identity in self.roots:
                return identity
            parent = self.stat(stat.ppid)
            if parent is None:
                return None
            identity, stat = (stat.ppid, parent.start), parent
        return None

    def session(self, stat: procfs.Stat) -> str | None:
        """The member in whose session the process is, which that member leads, or led before it ended.

        A pid is not given anew while it is the id of a session. Members that lead none are left out: the session of a
        job that was attached to is its terminal's, and others' too.
        """
        for member in self.run.members.values():
            if member.pid == stat.sid and member.start is not None and stat.start >= member.start:
                return member.key
        return None

    def is_probable(self, stat: procfs.Stat, seen: _Seen) -> bool:
        """Workers of a Ray that was there before are nobody's children and carry no mark."""
        if self.run.first_m is None or not any(not member.owned for member in self.run.members.values()):
            return False
        return seen.holds is True and seen.uid == os.geteuid() and stat.start >= procfs.start_ticks(self.run.first_m)


class Owners:
    """Answers for one run; what it has seen of a process is kept for as long as the process is listed."""

    def __init__(self, run_id: str, *, before: Iterable[Identity] = ()) -> None:
        """`before`: the processes of the baseline."""
        self._run_id = run_id
        self._before = frozenset(before)
        self._seen: dict[Identity, _Seen] = {}
        self._ours: dict[Identity, str | None] = {}
        """Those of the run, with their member: this never changes back, also when a parent has died."""

    def look(self, lists: Mapping[str, Iterable[GpuProcess]], run: RunState, now: int) -> dict[str, tuple[Holder, ...]]:
        """Who the listed processes are, by device. `now`: monotonic nanoseconds.

        Only the listed processes and their parents are looked up: the cost does not grow with the host's processes.
        """
        look = _Look(run, now)
        return {key: tuple(self._holder(process, look) for process in listed) for key, listed in lists.items()}

    def forget(self, listed: Iterable[Holder]) -> None:
        """Drops what is known of all processes but these."""
        kept = {(holder.pid, holder.start) for holder in listed}
        self._seen = {identity: seen for identity, seen in self._seen.items() if identity in kept}
        self._ours = {identity: member for identity, member in self._ours.items() if identity in kept}

    def _holder(self, process: GpuProcess, look: _Look) -> Holder:
        plain = Holder(
            pid=process.pid, start=None, name=None, user=None, type=process.type,
            used_bytes=process.used_bytes, owner="unseen",
        )  # fmt: skip
        stat = look.stat(process.pid)
        if stat is None:
            return plain
        seen = self._look_at((process.pid, stat.start), stat, look.now)
        owner, member = self._owner((process.pid, stat.start), stat, seen, look)
        if owner == "unseen":
            return plain
        name, user = naming.name(process.pid, stat.name), naming.login(seen.uid)
        return replace(plain, start=stat.start, name=name, user=user, owner=owner, member=member)

    def _owner(self, identity: Identity, stat: procfs.Stat, seen: _Seen, look: _Look) -> tuple[Owner, str | None]:
        if identity in self._before:
            return "before", None
        if identity in self._ours or self._is_ours(identity, stat, seen, look):
            return "run", self._ours[identity]
        if seen.holds is False:
            return "unseen", None
        return ("probably" if look.is_probable(stat, seen) else "other"), None

    def _is_ours(self, identity: Identity, stat: procfs.Stat, seen: _Seen, look: _Look) -> bool:
        """Whether it descends from a process of the run, carries its mark, or is in the session of a member."""
        ancestor = look.ancestor(identity, stat)
        session = look.session(stat)
        if ancestor is None and session is None and not seen.marked:
            return False
        self._ours[identity] = (look.roots[ancestor] if ancestor else None) or seen.member or session
        return True

    def _look_at(self, identity: Identity, stat: procfs.Stat, now: int) -> _Seen:
        known = self._seen.get(identity)
        if known is not None and (known.holds is True or now - known.m < _AGAIN_NS):
            return known
        pid = identity[0]
        environment = procfs.environment(pid)
        marked = environment.get(procfs.RUN_MARK) == self._run_id
        self._seen[identity] = _Seen(
            uid=procfs.user(pid),
            member=environment.get(procfs.MEMBER_MARK) if marked else None,
            marked=marked,
            holds=None if stat.state in "XZ" else naming.holds_device(pid),
            m=now,
        )
        return self._seen[identity]


def _roots(run: RunState) -> dict[Identity, str | None]:
    """Processes whose descendants are the run's, with the member that they belong to; the shim adopts the orphans."""
    found: dict[Identity, str | None] = {}
    if run.shim is not None:
        for pid, start in ((run.shim.worker, run.shim.worker_start), (run.shim.guard, run.shim.guard_start)):
            if pid is not None and start is not None:
                found[pid, start] = None
    found.update({(left.pid, left.start): left.member for left in run.leftovers.values()})
    for member in run.members.values():
        if member.pid is not None and member.start is not None:
            found[member.pid, member.start] = member.key
    return found
