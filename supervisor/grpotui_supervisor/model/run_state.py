"""The state of a run as its process record tells it: a fold, `advance(state, record) -> state`.

Pure: no clock, no files. A record of an unknown kind, or one that lacks what its kind needs, changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from grpotui_supervisor.model.members import (
    Exited,
    FailedToStart,
    Killed,
    Leftover,
    Lost,
    Member,
    MemberState,
    Nanoseconds,
    NotObservable,
    Running,
    exit_code,
    failed,
)

RunPhase = Literal["starting", "running", "stopping", "draining", "ended", "unsupervised"]
Verdict = Literal["passed", "failed", "stopped", "unknown"]
Record = Mapping[str, Any]

_ASKED = ("interrupt", "stop", "kill")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFailure:
    """The first death that was nobody's wish, in the order that the kernel gave."""

    member: str
    rank: int | None
    state: MemberState | None
    """None: the rank left early, with code 0."""
    m: Nanoseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A series of signals that is under way."""

    kind: str
    """`interrupt`, `stop`, `kill` (asked for), `failure`, `companions` or `leftovers`."""
    why: str
    signal: str
    m: Nanoseconds
    """When this signal was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shim:
    """The processes that own the ranks, as last recorded."""

    worker: int | None
    worker_start: int | None
    guard: int | None
    guard_start: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Everything that `ranks.jsonl` and the monitor's observations of processes say, up to some moment."""

    members: Mapping[str, Member] = field(default_factory=lambda: MappingProxyType({}))
    leftovers: Mapping[int, Leftover] = field(default_factory=lambda: MappingProxyType({}))
    """Adopted processes that live, also while ranks still run."""
    node: str = "node-0"
    shim: Shim | None = None
    spawn_done: bool = False
    first_failure: FirstFailure | None = None
    worker_failure: FirstFailure | None = None
    """First failed worker of a launcher; the first failure only if the launcher fails too."""
    stop_asked: bool = False
    plan: Plan | None = None
    hold: str | None = None
    """Why the peers of a failed rank are being spared."""
    ranks_done: bool = False
    leftovers_kept: bool = False
    unkillable: tuple[int, ...] = ()
    done: bool = False
    unsupervised: bool = False
    attached: bool = False
    """The job is not ours: its processes are watched, and never signalled."""
    following_ended: str | None = None
    """Why the logs of an attached job are followed no more."""
    takeovers: int = 0
    guard_lost: bool = False
    first_m: Nanoseconds | None = None
    last_m: Nanoseconds | None = None


def planned(members: Iterable[Mapping[str, Any]], node: str, *, attached: bool = False) -> RunState:
    """Before the first record: everybody whom `run.json` names is still to be started.

    A rank that the record never mentions must not be missing from the verdict: the others' 0 would pass for all.
    `attached`: grpotui did not start the job, so they live already, or nothing is known of them but a log.
    """
    place = _watched if attached else _to_start
    found = {str(m["member"]): place(m, node) for m in members}
    return RunState(members=MappingProxyType(found), node=node, attached=attached)


def _to_start(m: Mapping[str, Any], node: str) -> Member:
    return Member(key=str(m["member"]), node=node, role=str(m["role"]), rank=m["rank"])


def _watched(m: Mapping[str, Any], node: str) -> Member:
    pid, start = m.get("pid"), m.get("start")
    alive = isinstance(pid, int) and isinstance(start, int)
    return Member(
        key=str(m["member"]),
        node=node,
        role=str(m["role"]),
        rank=m["rank"],
        owned=False,
        attached=True,
        pid=pid if alive else None,
        start=start if alive else None,
        state=Running() if alive else NotObservable("only its log is followed: no process of it is known"),
    )


def leading(state: RunState) -> list[Member]:
    """The ranks, or the driver."""
    return [m for m in state.members.values() if m.leads]


def phase(state: RunState) -> RunPhase | None:
    """The state of the run in one word; None: nothing is known of the processes of an attached job."""
    if state.attached:
        return _attached_phase(state)
    if state.done:
        return "ended"
    if state.unsupervised:
        return "unsupervised" if any(m.is_open for m in state.members.values()) else "ended"
    if state.ranks_done:
        return "draining"
    if state.plan is not None:
        return "stopping"
    return "running" if state.spawn_done else "starting"


def _attached_phase(state: RunState) -> RunPhase | None:
    watched = leading(state)
    if not watched:
        return None
    return "unsupervised" if any(m.is_open for m in watched) else "ended"


def verdict(state: RunState) -> Verdict | None:
    """What the processes say, once every rank has ended; the first that applies."""
    ranks = leading(state)
    if any(m.is_open for m in ranks):
        return None
    is_final = bool(ranks) if state.attached else state.ranks_done or state.done or state.unsupervised
    if not is_final:
        return None
    if state.first_failure is not None:
        return "failed"
    if state.stop_asked:
        return "stopped"
    if ranks and all(m.state == Exited(0) for m in ranks):
        return "passed"
    return "unknown"


def exit_status(state: RunState, *, expect_met: bool = True) -> tuple[int, Literal["job", "grpotui"]]:
    """What `launch` exits with, and whose word that is."""
    match verdict(state):
        case "failed":
            first = state.first_failure
            code = 1 if first is None or first.state is None else exit_code(first.state)
            return (1 if code is None else code), "job"
        case "stopped":
            return 130, "grpotui"
        case "passed":
            return (0, "job") if expect_met else (4, "grpotui")
        case "unknown" | None:
            return 125, "grpotui"


def advance(state: RunState, record: Record) -> RunState:
    """The state after one more record."""
    handler = _HANDLERS.get(record.get("ev", ""))
    moment = record.get("m")
    if not isinstance(moment, int):
        return state
    state = replace(state, first_m=state.first_m or Nanoseconds(moment), last_m=Nanoseconds(moment))
    if handler is None:
        return state
    try:
        return handler(state, record)
    except (KeyError, TypeError, ValueError, OverflowError):
        return state


def ending(record: Record) -> MemberState:
    """The state that an exit record describes; KeyError when it is none."""
    match record["how"]:
        case "exited":
            return Exited(int(record["code"]))
        case "killed":
            return Killed(str(record["signal"]), int(record["signo"]), bool(record["core"]))
        case how:
            raise ValueError(how)


def _with_member(run: RunState, key: str, /, **changes: Any) -> RunState:  # noqa: ANN401  (fields of Member)
    known = run.members.get(key) or Member(key=key, node=run.node, role="rank")
    return replace(run, members=MappingProxyType({**run.members, key: replace(known, **changes)}))


def _place(record: Record) -> dict[str, Any]:
    return {"rank": record["rank"], "role": record["role"]}


def _shim(state: RunState, record: Record) -> RunState:
    names = ("worker", "worker_start", "guard", "guard_start")
    return replace(state, shim=Shim(**{name: record.get(name) for name in names}), unsupervised=False)


def _takeover(state: RunState, record: Record) -> RunState:
    shim = Shim(worker=None, worker_start=None, guard=record.get("guard"), guard_start=record.get("guard_start"))
    return replace(state, shim=shim, takeovers=state.takeovers + 1)


def _spawning(state: RunState, record: Record) -> RunState:
    return _with_member(state, record["member"], **_place(record))


def _spawned(state: RunState, record: Record) -> RunState:
    identity = {"pid": int(record["pid"]), "start": int(record["start"]), "owned": bool(record["owned"])}
    state = _with_member(state, record["member"], **_place(record), **identity, state=Running())
    if not record["owned"] and record["rank"] is not None:
        state = replace(state, worker_failure=None)  # a new worker: the launcher dealt with the last failure
    return state


def _spawn_failed(state: RunState, record: Record) -> RunState:
    path = record.get("path")
    how = FailedToStart(int(record["errno"]), str(record["error"]) + (f": {path}" if path else ""))
    state = _with_member(state, record["member"], **_place(record), state=how, ended_m=record["m"])
    return _note_failure(state, state.members[record["member"]])


def _spawn_done(state: RunState, record: Record) -> RunState:
    for key in record.get("not_started", ()):
        reason = FailedToStart(None, "not tried: another start had failed, or a stop came first")
        state = _with_member(state, str(key), **_place_of(str(key)), state=reason, ended_m=record["m"])
    return replace(state, spawn_done=True)


def _place_of(key: str) -> dict[str, Any]:
    """Rank and role of a member that has no record but its name."""
    if key.isdecimal():
        return {"rank": int(key), "role": "rank"}
    return {"rank": None, "role": "driver" if key == "driver" else "companion"}


def _exit(state: RunState, record: Record) -> RunState:
    changes = {"state": ending(record), "sent": tuple(record["sent"]), "ended_m": record["m"]}
    state = _with_member(state, record["member"], **_place(record), **changes)
    return _note_failure(state, state.members[record["member"]])


def _note_failure(state: RunState, member: Member) -> RunState:
    if not failed(member.state) or member.sent or state.stop_asked or member.ended_m is None:
        return state
    found = FirstFailure(member=member.key, rank=member.rank, state=member.state, m=member.ended_m)
    if not member.owned and not member.attached:
        known = state.worker_failure or (found if member.rank is not None else None)
        return replace(state, worker_failure=known)
    if state.first_failure is not None or not (member.leads or isinstance(member.state, FailedToStart)):
        return state
    cause = state.worker_failure if member.role == "driver" and state.worker_failure else found
    return replace(state, first_failure=cause)


def _lost(state: RunState, record: Record) -> RunState:
    changes = {"state": Lost(str(record["reason"])), "ended_m": record["m"], "sent": tuple(record.get("sent", ()))}
    return _with_member(state, record["member"], **changes)


def _not_observable(state: RunState, record: Record) -> RunState:
    return _with_member(
        state, record["member"], state=NotObservable(str(record["reason"])), ended_m=record["m"], owned=False
    )


def _first_failure(state: RunState, record: Record) -> RunState:
    if state.first_failure is not None or record.get("how") != "left_early":
        return state  # every other failure follows from its exit record
    ended = state.members[record["member"]].ended_m or record["m"]  # it was found out only after the grace
    early = FirstFailure(member=str(record["member"]), rank=record["rank"], state=None, m=ended)
    return replace(state, first_failure=early)


def _adopted(state: RunState, record: Record) -> RunState:
    left = Leftover(
        pid=int(record["pid"]), start=int(record["start"]), name=str(record["name"]), member=record.get("member")
    )
    return replace(state, leftovers=MappingProxyType({**state.leftovers, left.pid: left}))


def _orphan_exit(state: RunState, record: Record) -> RunState:
    rest = {pid: left for pid, left in state.leftovers.items() if pid != record["pid"]}
    return replace(state, leftovers=MappingProxyType(rest))


def _stop(state: RunState, record: Record) -> RunState:
    plan = Plan(kind=str(record["plan"]), why=str(record["why"]), signal=str(record["signal"]), m=record["m"])
    return replace(state, plan=plan, stop_asked=state.stop_asked or plan.kind in _ASKED)


def _request(state: RunState, record: Record) -> RunState:
    asked = "refused" not in record and record["what"] in _ASKED
    return replace(state, stop_asked=state.stop_asked or asked)


def _rusage(state: RunState, record: Record) -> RunState:
    if record["member"] not in state.members:
        return state
    return _with_member(state, record["member"], max_rss_bytes=int(record["max_rss_bytes"]))


_HANDLERS: dict[str, Callable[[RunState, Record], RunState]] = {
    "header": lambda state, record: replace(state, node=str(record["node"])),
    "shim": _shim,
    "takeover": _takeover,
    "spawning": _spawning,
    "spawned": _spawned,
    "spawn_failed": _spawn_failed,
    "spawn_done": _spawn_done,
    "exit": _exit,
    "lost": _lost,
    "not_observable": _not_observable,
    "first_failure": _first_failure,
    "adopted": _adopted,
    "orphan_exit": _orphan_exit,
    "stop": _stop,
    "request": _request,
    "rusage": _rusage,
    "hold": lambda state, record: replace(state, hold=str(record["why"])),
    "ranks_done": lambda state, _: replace(state, ranks_done=True, hold=None),
    "leftovers": lambda state, _: replace(state, leftovers_kept=True),
    "unkillable": lambda state, record: replace(state, unkillable=tuple(record["pids"])),
    "guard_lost": lambda state, _: replace(state, guard_lost=True),
    "done": lambda state, _: replace(state, done=True, leftovers=MappingProxyType({})),
    "unsupervised": lambda state, _: replace(state, unsupervised=True),
    "following_ended": lambda state, record: replace(state, following_ended=str(record["why"])),
}
