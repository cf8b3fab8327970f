"""What has changed in a run since the last look: the one stream that line-by-line front ends print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpotui_supervisor.model.members import Starting
from grpotui_supervisor.model.run_state import Plan, RunPhase, RunState, phase
from grpotui_supervisor.source.followed import FollowedLog
from grpotui_supervisor.source.gpu_changes import GpuChange, GpuChanges
from grpotui_supervisor.source.phase import phase_now

if TYPE_CHECKING:
    from grpotui_supervisor.logs.columns import Columns
    from grpotui_supervisor.model.finding import Finding
    from grpotui_supervisor.model.members import Leftover, Member, MemberState
    from grpotui_supervisor.source.source import Source


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """The run is now in this state."""

    phase: RunPhase | None


@dataclass(frozen=True, slots=True)
class MemberChanged:
    """A member was started, or has ended."""

    member: Member


@dataclass(frozen=True, slots=True)
class Signalled:
    """A step of a plan was carried out: this signal was sent."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Held:
    """The peers of a failed rank are spared, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A process of the run that lives although every rank has ended."""

    leftover: Leftover


@dataclass(frozen=True, slots=True)
class LeftoverEnded:
    """What became of a process that was asked to end, by `stop --leftovers`; None: it is still alive, and why."""

    leftover: Leftover
    state: MemberState | None
    sent: tuple[str, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """A finding."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class Stepped:
    """A row of metrics: its index in the columns, and its step where the log tells."""

    row: int
    step: int | None


@dataclass(frozen=True, slots=True)
class Entered:
    """What the run is doing now, and whose word that is; None: nobody tells any more."""

    phase: str | None
    told_by: str | None


@dataclass(frozen=True, slots=True)
class Unwatched:
    """For so long no monitor ran."""

    seconds: float


@dataclass(frozen=True, slots=True)
class LogChanged:
    """Something happened to a log of an attached job: it is missing, was rotated or truncated, or is read."""

    path: str
    what: str


Change = (
    PhaseChanged
    | MemberChanged
    | Signalled
    | Held
    | LeftBehind
    | LeftoverEnded
    | Raised
    | Stepped
    | Entered
    | Unwatched
    | LogChanged
    | GpuChange
)


def _log_words(before: FollowedLog, log: FollowedLog) -> list[str]:
    """What has happened to a log since then; that it grows is no news."""
    words = [f"rotated ({log.rotated} times so far)"] if log.rotated > before.rotated else []
    words += [f"truncated ({log.truncated} times so far)"] if log.truncated > before.truncated else []
    words += [f"not all of it was seen: {why}" for why in log.missed[len(before.missed) :]]
    if log.state == before.state:
        return words
    if log.state == "missing":
        words.append(f"{log.reason}; it is waited for")
    elif log.state == "read":
        words.append("read to its end")
    elif before.state == "missing":
        words.append("there now")
    elif log.history_bytes:
        words.append(f"{log.history_bytes} bytes of it are from before: their lines have no times of their own")
    return words


class Changes:
    """Compares the source with what it was at the last call."""

    def __init__(self) -> None:
        self._phase: RunPhase | None = None
        self._logs: dict[str, FollowedLog] = {}
        self._doing: str | None = None
        self._members: dict[str, Member] = {}
        self._plan: Plan | None = None
        self._hold: str | None = None
        self._left: set[int] = set()
        self._findings: set[tuple[str, str | None]] = set()
        self._rows = 0
        self._columns: Columns | None = None
        self._gaps = 0
        self._gpus = GpuChanges()

    def of(self, source: Source, run: RunState) -> list[Change]:
        """New since the last call, in the order in which a reader wants to hear it. `run` may be the settled one."""
        found: list[Change] = [*self._process_changes(run)]
        gaps = source.logs.gaps[self._gaps :]
        self._gaps += len(gaps)
        found += [Unwatched((end - begin) / 1e9) for begin, end in gaps]
        found += self._log_changes(source)
        found += [Stepped(row, source.logs.step_of(row)) for row in self._new_rows(source)]
        doing = phase_now(source)
        if (doing.name if doing else None) != self._doing:
            self._doing = doing.name if doing else None
            found.append(Entered(self._doing, doing.told_by if doing else None))
        found += self._gpus.of(source.gpus, source.ends)
        fresh = source.findings.keys() - self._findings
        self._findings |= fresh
        found += [Raised(finding) for key, finding in source.findings.items() if key in fresh]
        now = phase(run)
        if now != self._phase:
            self._phase = now
            found.append(PhaseChanged(now))
        return found

    def _new_rows(self, source: Source) -> range:
        """All of them once others have taken their place: SkyRL's that tell their steps, or exact ones."""
        columns = source.logs.columns
        begin = self._rows if columns is self._columns else 0
        self._rows, self._columns = source.logs.steps, columns
        return range(begin, self._rows)

    def _log_changes(self, source: Source) -> list[Change]:
        now = source.followed.logs
        found = [
            LogChanged(source.followed.paths[name], what)
            for name, log in now.items()
            for what in _log_words(self._logs.get(name, FollowedLog()), log)
        ]
        self._logs = dict(now)
        return [*found]

    def _process_changes(self, run: RunState) -> list[Change]:
        timed: list[tuple[int, Change]] = [(m.ended_m or 0, MemberChanged(m)) for m in self._changed_members(run)]
        self._members = dict(run.members)
        if run.plan is not None and run.plan != self._plan:
            timed.append((run.plan.m, Signalled(run.plan)))
        self._plan = run.plan
        found = [change for _, change in sorted(timed, key=lambda pair: pair[0])]
        if run.ranks_done:
            found += [LeftBehind(left) for pid, left in run.leftovers.items() if pid not in self._left]
            self._left |= run.leftovers.keys()
        if run.hold is not None and run.hold != self._hold:
            found.append(Held(run.hold))
        self._hold = run.hold
        return found

    def _changed_members(self, run: RunState) -> list[Member]:
        """Those with another state than at the last call."""
        known = {key: member.state for key, member in self._members.items()}
        return [m for key, m in run.members.items() if m.state != known.get(key, Starting())]
