"""The members' pidfds: when no shim is left, the monitor is the only one that can still learn how a rank ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.readable import readable
from grpotui_supervisor.shim import ending, pidfd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.model.members import Member
    from grpotui_supervisor.model.run_state import RunState


class Watch:
    """A pidfd for each member that lives, opened while it lives: only then does the kernel keep its status for us."""

    def __init__(self, *, use_info: bool) -> None:
        self._use_info = use_info
        self._fds: dict[tuple[int, int], int] = {}
        self._told: set[tuple[str, int | None, int | None]] = set()

    def follow(self, run: RunState) -> None:
        """Opens the pidfd of each new member, and closes those of the ended."""
        alive = {(m.pid, m.start): m for m in run.members.values() if m.is_open and m.pid is not None and m.start}
        for pid, start in alive.keys() - self._fds.keys():
            fd = pidfd.open_verified(int(pid or 0), int(start or 0))
            if fd is not None:
                self._fds[int(pid or 0), int(start or 0)] = fd
        for key in self._fds.keys() - alive.keys():
            os.close(self._fds.pop(key))

    def fds(self) -> list[int]:
        """The pidfds of the members whose end was not told yet; one becomes readable when its process ends."""
        told = {(pid, start) for _, pid, start in self._told}
        return [fd for identity, fd in self._fds.items() if identity not in told]

    def ends(self, run: RunState) -> Iterator[tuple[Member, dict[str, Any] | None]]:
        """Members that are open in the record but dead, with how they ended, or None where nobody can know.

        Each is told once: its record is read back some milliseconds later, or after minutes while the disk is full.
        """
        for member in run.members.values():
            identity = (member.key, member.pid, member.start)
            if not member.is_open or identity in self._told:
                continue
            dead, how = self._look(member)
            if dead:
                self._told.add(identity)
                yield member, how

    def _look(self, member: Member) -> tuple[bool, dict[str, Any] | None]:
        """Whether the member has ended, and how."""
        if member.pid is None or member.start is None:
            return True, None  # the shim died before its start was on record
        fd = self._fds.get((member.pid, member.start))
        if fd is None:
            fd = pidfd.open_verified(member.pid, member.start)
            if fd is None:
                return True, None
            self._fds[member.pid, member.start] = fd
        if not readable([fd], 0):
            return False, None
        raw = pidfd.foreign_status(fd, member.pid, member.start, use_info=self._use_info)
        return True, None if raw is None else {**ending.from_wait_status(raw)}
