"""What can be seen of a run's processes from here and now, beyond its records."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from grpotui_supervisor.model.members import Lost, Member, NotObservable, Running
from grpotui_supervisor.model.run_state import RunState, ending
from grpotui_supervisor.shim import ending as endings
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.rundir import RunDirectory

Place = Literal["here", "elsewhere", "rebooted", "other namespace", "copy"]


@dataclass(frozen=True, slots=True)
class View:
    """From where a run is looked at, and which of its supervisors live."""

    place: Place
    shim_alive: bool
    monitor_alive: bool

    @property
    def can_control(self) -> bool:
        """Whether requests and signals reach the run from here."""
        return self.place == "here"


def look(directory: RunDirectory, facts: Mapping[str, Any]) -> View:
    """Compares the run's host, boot, pid namespace and directory with ours, and asks who holds its locks."""
    return View(
        place=_place(directory, facts),
        shim_alive=directory.is_locked("shim.lock"),
        monitor_alive=directory.is_locked("monitor.lock"),
    )


def _place(directory: RunDirectory, facts: Mapping[str, Any]) -> Place:
    if facts.get("inode") != os.stat(directory.path).st_ino or facts.get("directory") != directory.path:
        return "copy"
    host = facts.get("host", {})
    if host.get("boot") == procfs.boot_id():
        return "here" if host.get("pidns") == procfs.pid_namespace() else "other namespace"
    return "rebooted" if host.get("hostname") == socket.gethostname() else "elsewhere"


def is_all_gone(state: RunState, run: str) -> bool:
    """Whether no process of the run is alive, whatever the record says: its lines wait while the disk is full."""
    open_members = [(m.pid, m.start) for m in state.members.values() if m.is_open]
    known = open_members + [(left.pid, left.start) for left in state.leftovers.values()]
    if any(pid is None or start is None or procfs.is_alive(pid, start) for pid, start in known):
        return False
    return not procfs.marked(run)


def settle(state: RunState, view: View) -> RunState:
    """Closes what the records leave open, when nobody is left who could: each open end becomes known or lost.

    A run on another host, or a copy, stays as it was last recorded.
    """
    watched = view.shim_alive or (state.attached and view.monitor_alive)
    if state.done or watched or view.place in ("elsewhere", "copy"):
        return state
    leftovers = {pid: x for pid, x in state.leftovers.items() if view.place == "here" and procfs.is_alive(pid, x.start)}
    if view.place == "rebooted":
        members = {key: _close(m, "the host was rebooted") for key, m in state.members.items()}
    elif view.place == "other namespace":
        members = {key: _close(m, "its pid namespace is gone") for key, m in state.members.items()}
    else:
        members = {key: _look_at(m) for key, m in state.members.items()}
    return replace(state, members=MappingProxyType(members), leftovers=MappingProxyType(leftovers), unsupervised=True)


def _close(member: Member, reason: str) -> Member:
    if not member.is_open:
        return member
    return replace(member, state=Lost(reason) if member.owned else NotObservable(reason))


def _look_at(member: Member) -> Member:
    if not member.is_open:
        return member
    if member.pid is None or member.start is None:
        return _close(member, "the shim ended before its start was on record")
    if procfs.is_alive(member.pid, member.start):
        return replace(member, state=Running())
    raw = procfs.zombie_status(member.pid, member.start)
    if raw is not None:
        return replace(member, state=ending({**endings.from_wait_status(raw)}))
    return _close(member, f"it ended while no {'shim' if member.owned else 'monitor'} was there to see it")
