"""The table of processes that the shim follows: members of the run, and orphans it adopted."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpotui_supervisor.shim.ending import Ending

LEADING = ("rank", "driver")
"""Roles whose end is the end of the job; companions and observed workers follow them."""


class Process:
    """What is true of every process that is followed.

    `child`: we can wait for it; an observed worker of a launcher is none, nor is anything that was taken over from a
    dead shim. `seq` is the number of its exit record: it is reaped only after that is written.
    """

    __slots__ = ("child", "ending", "pid", "sent", "seq", "start")

    def __init__(self, pid: int, start: int, *, child: bool) -> None:
        self.pid = pid
        self.start = start
        self.child = child
        self.sent: list[str] = []
        self.ending: Ending | None = None
        self.seq = 0


class Member(Process):
    """A process with a place in the run. `owned`: grpotui started it; else it is a launcher's worker."""

    __slots__ = ("fd", "member", "owned", "rank", "role")

    def __init__(  # noqa: PLR0913  (these are the fields of its record)
        self, member: str, pid: int, start: int, *, rank: int | None, role: str, owned: bool = True, child: bool = True
    ) -> None:
        super().__init__(pid, start, child=child)
        self.member = member
        self.rank = rank
        self.role = role
        self.owned = owned
        self.fd: int | None = None

    @property
    def leads(self) -> bool:
        """Whether the job lives as long as this process."""
        return self.owned and self.role in LEADING

    def named(self) -> dict[str, object]:
        """The fields that name it in a record."""
        return {"member": self.member, "rank": self.rank, "role": self.role, "pid": self.pid, "start": self.start}


class Orphan(Process):
    """A process of the run that lost its parent: ours to wait for, or found by its mark in adopt mode."""

    __slots__ = ("name",)

    def __init__(self, pid: int, start: int, name: str, *, child: bool = True) -> None:
        super().__init__(pid, start, child=child)
        self.name = name


class Table:
    """Who is alive, by pid. Gone processes are dropped: their pid may be somebody else's by now."""

    __slots__ = ("ended", "members", "orphans")

    def __init__(self) -> None:
        self.members: dict[int, Member] = {}
        self.orphans: dict[int, Orphan] = {}
        self.ended: set[str] = set()

    def knows(self, pid: int) -> bool:
        """Whether a process with that pid is followed."""
        return pid in self.members or pid in self.orphans

    def alive(self, *, role: str | None = None, leading: bool = False) -> list[Member]:
        """Members without a known ending; of one role, or only those the job lives by."""
        return [
            m
            for m in self.members.values()
            if m.ending is None and (role is None or m.role == role) and (not leading or m.leads)
        ]

    def living_orphans(self) -> list[Orphan]:
        """Adopted processes without a known ending."""
        return [o for o in self.orphans.values() if o.ending is None]
