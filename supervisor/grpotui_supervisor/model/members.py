"""Members of a run, and the state of each: a sum type that carries its own data.

A code and a signal exclude each other, a pid exists only once there was a process, and whatever is unknown has a
state of its own that says why.
"""

from dataclasses import dataclass, field
from typing import NewType

Nanoseconds = NewType("Nanoseconds", int)
"""Monotonic clock of the machine that wrote the record; comparable within one boot only."""

LEADING = ("rank", "driver")
"""Roles whose end is the end of the job."""


@dataclass(frozen=True, slots=True)
class Starting:
    """On record to be started; no process is known yet."""


@dataclass(frozen=True, slots=True)
class Running:
    """Started, and no end is known."""


@dataclass(frozen=True, slots=True)
class Exited:
    """Ended by exit with this code, 0 to 255."""

    code: int


@dataclass(frozen=True, slots=True)
class Killed:
    """Ended by this signal."""

    signal: str
    """Name, such as `SIGKILL`."""
    number: int
    core_dumped: bool


@dataclass(frozen=True, slots=True)
class FailedToStart:
    """Never became a process; `errno` is None where the start was not even tried because another had failed."""

    errno: int | None
    error: str


@dataclass(frozen=True, slots=True)
class Lost:
    """An owned process is gone and nobody saw how it ended. Never to be read as success."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotObservable:
    """An observed process is gone, and the kernel tells its status to its parent only."""

    reason: str


MemberState = Starting | Running | Exited | Killed | FailedToStart | Lost | NotObservable


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A process with a place in the run."""

    key: str
    """Its name in the record: the rank as text, `driver`, a companion's name, or `pid-…` of an observed worker."""
    node: str
    role: str
    """`rank`, `driver`, `companion`, or the worker class of an observed Ray process."""
    rank: int | None = None
    owned: bool = True
    """Our child; else observed: a launcher's worker."""
    attached: bool = False
    """The job itself, which grpotui did not start."""
    pid: int | None = None
    start: int | None = None
    """Start time in clock ticks since boot."""
    state: MemberState = field(default_factory=Starting)
    sent: tuple[str, ...] = ()
    """Signals that grpotui sent before the end."""
    ended_m: Nanoseconds | None = None
    max_rss_bytes: int | None = None

    @property
    def leads(self) -> bool:
        """Whether the job lives as long as this member."""
        return (self.owned or self.attached) and self.role in LEADING

    @property
    def folder(self) -> str:
        """Its folder below `ranks/`; a launcher's worker has that of its rank."""
        return self.key if self.owned or self.rank is None else str(self.rank)

    @property
    def is_open(self) -> bool:
        """Whether its end is still to come."""
        return isinstance(self.state, Starting | Running)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A process of the run that lost its parent and lives on."""

    pid: int
    start: int
    name: str
    member: str | None
    """The member it descends from, as its environment says."""


def failed(state: MemberState) -> bool:
    """A code other than 0, a signal, or a start that failed; what is unknown is no failure, and no success."""
    match state:
        case Exited(code):
            return code != 0
        case Killed():
            return True
        case FailedToStart(errno):
            return errno is not None
        case Starting() | Running() | Lost() | NotObservable():
            return False


def exit_code(state: MemberState) -> int | None:
    """What a shell would show for this end (128 + signal; 127 and 126 for a failed start); None when unknown."""
    match state:
        case Exited(code):
            return code
        case Killed(_, number):
            return 128 + number
        case FailedToStart(errno):
            return 127 if errno in (None, 2) else 126
        case Starting() | Running() | Lost() | NotObservable():
            return None
