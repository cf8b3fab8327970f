"""What guard and worker share: the specification, the record, the table of processes, and the poll set."""

from __future__ import annotations

import contextlib
import os
import select
import time

from grpotui_supervisor.shim import pidfd, procfs
from grpotui_supervisor.shim.journal import Journal, report
from grpotui_supervisor.shim.members import Member, Table
from grpotui_supervisor.shim.stopping import Stopping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpotui_supervisor.shim.specification import Specification

_BLIND_S = 0.05
"""Pace of the loop when there is no poll set."""


class Job:
    """State of the run as the shim knows it. Functions of the sibling modules act on it."""

    def __init__(self, directory: str, spec: Specification) -> None:
        self.directory = directory
        self.spec = spec
        self.journal = Journal(f"{directory}/ranks.jsonl", spec.node, writer="shim", spill=True)
        self.table = Table()
        self.stopping = Stopping(spec.limits)
        self.handled_requests: set[str] = set()
        """Files in `control/` that could not be removed."""
        self.recorded_requests: set[str] = set()
        """Files whose request a predecessor has put on record; whether it carried it out is not known."""
        self.signals: list[int] = []
        """Requests that came as signals. A handler only puts them here: the loop must not find its plan changed."""
        self.worker_failure: Member | None = None
        """First failed worker of a launcher: the cause, should the launcher fail as well."""
        self.ranks_done_m: int | None = None
        self.done_recorded = False
        self.poll: select.epoll | None = None
        self._guard: int | None = None
        self._watched: dict[int, Member] = {}

    def open_poll(self, wakeup: int) -> None:
        """Called after the fork: guard and worker must not share one poll set."""
        self.poll = select.epoll()
        self.poll.register(wakeup, select.EPOLLIN)

    def watch(self, member: Member) -> None:
        """Puts a member into the table and its pidfd into the poll set.

        epoll's ready list is first in, first out: it is the true order of death (20 of 20 trials with 64
        processes), which waitid(P_ALL) does not give (0 of 20).
        """
        self.table.members[member.pid] = member
        try:
            member.fd = os.pidfd_open(member.pid) if member.child else pidfd.open_verified(member.pid, member.start)
            if member.fd is not None and self.poll is not None:
                self.poll.register(member.fd, select.EPOLLIN)
                self._watched[member.fd] = member
        except OSError as error:  # out of descriptors: the regular look at all members still finds its end
            report(f"{member.member} is not watched: {error.strerror}")
            self.unwatch(member)

    def unwatch(self, member: Member) -> None:
        """Takes its pidfd out of the poll set: that of a dead process is readable for ever."""
        if member.fd is None:
            return
        self._watched.pop(member.fd, None)
        self._forget(member.fd)
        member.fd = None

    def watch_guard(self, pid: int) -> None:
        """A worker without a guard goes on, but the record says so: its own SIGKILL would lose statuses now."""
        try:
            self._guard = os.pidfd_open(pid)
            if self.poll is not None:
                self.poll.register(self._guard, select.EPOLLIN)
        except OSError as error:
            report(f"the guard is not watched: {error.strerror}")

    def _guard_died(self) -> None:
        if self._guard is not None:
            self._forget(self._guard)
            self._guard = None
            self.journal.add("guard_lost")

    def _forget(self, fd: int) -> None:
        with contextlib.suppress(OSError):  # it may never have got into the poll set
            if self.poll is not None:
                self.poll.unregister(fd)
        os.close(fd)

    def ready(self, seconds: float) -> list[Member]:
        """Members whose pidfd became readable, in order of death; waits at most that long.

        After SIGSTOP and SIGCONT a poll that ran out of time may answer with nothing although events wait, so an
        empty answer is asked for once more.
        """
        if self.poll is None:
            time.sleep(min(seconds, _BLIND_S))
            return []
        events = self.poll.poll(seconds, 4096) or self.poll.poll(0, 4096)
        dead = [self._watched[fd] for fd, _ in events if fd in self._watched]
        for fd, _ in events:
            if fd == self._guard:
                self._guard_died()
            elif fd not in self._watched:
                _drain(fd)
        return dead

    def drop(self, member: Member) -> None:
        """Forgets a member whose end is on record and reaped."""
        self.unwatch(member)
        self.table.members.pop(member.pid, None)
        self.table.ended.add(member.member)

    def leftovers(self) -> list[tuple[int, str]]:
        """(pid, name) of what still lives although every rank has ended; companions are no leftovers."""
        observed = [(m.pid, m.role) for m in self.table.alive() if not m.owned]
        return [(o.pid, o.name) for o in self.table.living_orphans()] + observed

    def has_children(self) -> bool:
        """Whether any child is left, dead or alive."""
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True

    def is_over(self) -> bool:
        """Nothing to wait for, and everything written."""
        if self.table.members or self.table.orphans or self.has_children():
            return False
        return not (self.spec.adopt and procfs.marked(self.spec.run))

    def now(self) -> int:
        """Monotonic nanoseconds: the only clock that decides anything here."""
        return time.monotonic_ns()


def _drain(fd: int) -> None:
    try:
        os.read(fd, 4096)
    except OSError:
        return
