"""The record, folded into what a successor must know. No line can raise: a torn or foreign one changes nothing."""

from __future__ import annotations

from grpotui_supervisor.shim import ending
from grpotui_supervisor.shim.journal import report
from grpotui_supervisor.shim.members import Member, Orphan
from grpotui_supervisor.shim.plans import ASKED, ORDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_MOST_PID = 1 << 22
_MOST_NUMBER = 1 << 62


class Past:
    """What the record tells: who was started, who ended, and what was under way."""

    def __init__(self) -> None:
        self.place: tuple[object, object] | None = None
        """Boot and pid namespace in which the pids mean something."""
        self.open: dict[tuple[int, int], Member] = {}
        self.ended: dict[tuple[int, int], Member] = {}
        self.orphans: dict[tuple[int, int], Orphan] = {}
        self.orphans_ended: dict[tuple[int, int], Orphan] = {}
        self.planned: dict[str, Member] = {}
        """Everything that was to be started, without a pid."""
        self.attempted: dict[str, int] = {}
        """Member → when its start was begun, monotonic nanoseconds."""
        self.started: set[str] = set()
        """Members whose start is settled: they run or ran, failed to, or are lost."""
        self.spawn_done = False
        self.one_ended = False
        self.first_failure: dict[str, Any] | None = None
        self.cause: tuple[Member, dict[str, Any]] | None = None
        """The first failure as the ends tell it, should its own record be missing."""
        self.worker_failure: Member | None = None
        self.last_stop: dict[str, Any] | None = None
        self.asked: str | None = None
        """The strongest stop that a person asked for."""
        self.requests: set[str] = set()
        self.ranks_done_m: int | None = None
        self.done = False
        self.kept = False
        self.was_held = False

    def take(self, records: Iterable[dict[str, Any]]) -> None:
        """Folds the records in their order."""
        for record in records:
            handler = _HANDLERS.get(record["ev"])
            try:
                if handler is not None:
                    handler(self, record)
            except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
                report(f"passed over a record: {type(error).__name__} {str(error)[:200]}")


def _number(value: object, most: int = _MOST_NUMBER) -> int:
    if type(value) is not int or not 0 <= value < most:
        raise ValueError("not a number that can be meant")
    return value


def _key(record: dict[str, Any]) -> tuple[int, int]:
    pid = _number(record["pid"], _MOST_PID)
    if pid == 0:
        raise ValueError("pid 0")
    return pid, _number(record["start"])


def _member(record: dict[str, Any], key: tuple[int, int], *, owned: bool = True) -> Member:
    rank = record["rank"]
    if rank is not None:
        _number(rank)
    return Member(str(record["member"]), *key, rank=rank, role=str(record["role"]), owned=owned, child=False)


def _header(past: Past, record: dict[str, Any]) -> None:
    past.place = past.place or (record["boot"], record["pidns"])


def _shim(past: Past, record: dict[str, Any]) -> None:
    for item in record.get("starts", ()):
        past.planned.setdefault(str(item["member"]), _member(item, (0, 0)))


def _spawning(past: Past, record: dict[str, Any]) -> None:
    name = str(record["member"])
    past.attempted[name] = _number(record["m"])
    past.planned.setdefault(name, _member(record, (0, 0)))


def _spawned(past: Past, record: dict[str, Any]) -> None:
    key, owned = _key(record), record["owned"] is True
    member = _member(record, key, owned=owned)
    past.started.add(member.member)
    if key in past.ended:
        return
    past.open[key] = member
    past.orphans.pop(key, None)
    if not owned and member.rank is not None:
        past.worker_failure = None  # the launcher dealt with the last failure


def _spawn_failed(past: Past, record: dict[str, Any]) -> None:
    member = _member(record, (0, 0))
    past.started.add(member.member)
    keys = ("errno", "error", "path")
    past.cause = past.cause or (member, {"how": "failed_to_start", **{key: record.get(key) for key in keys}})


def _spawning_ended(past: Past, _record: dict[str, Any]) -> None:
    past.spawn_done = True


def _exited(past: Past, record: dict[str, Any]) -> None:
    found, sent = ending.from_record(record), [str(name) for name in record["sent"]]
    member = _close(past, record)
    if member is None:
        return
    member.ending, member.sent = found, sent
    if not ending.is_failure(found) or member.sent or past.asked:
        return
    if member.leads:
        cause = past.worker_failure if member.role == "driver" and past.worker_failure else member
        past.cause = past.cause or (cause, {**(cause.ending or found)})
    elif not member.owned and member.rank is not None:
        past.worker_failure = past.worker_failure or member


def _unseen(past: Past, record: dict[str, Any]) -> None:
    if record.get("pid") is None:  # its start was begun, and nobody knows more
        past.started.add(str(record["member"]))
        return
    member = _close(past, record)
    if member is not None:
        member.ending = ending.NOT_OBSERVABLE


def _close(past: Past, record: dict[str, Any]) -> Member | None:
    key, seq = _key(record), _number(record["seq"])
    member = past.open.pop(key, None)
    if member is not None:
        member.seq = seq
        past.ended[key] = member
        past.one_ended = past.one_ended or member.leads
    return member


def _adopted(past: Past, record: dict[str, Any]) -> None:
    key = _key(record)
    past.orphans[key] = Orphan(*key, str(record["name"]), child=False)


def _orphan_ended(past: Past, record: dict[str, Any]) -> None:
    key, found, seq = _key(record), ending.from_record(record), _number(record["seq"])
    orphan = past.orphans.pop(key, None)
    if orphan is not None:
        orphan.ending, orphan.seq = found, seq
        past.orphans_ended[key] = orphan


def _failed(past: Past, record: dict[str, Any]) -> None:
    _number(record["m"])
    past.first_failure = past.first_failure or record


def _stopped(past: Past, record: dict[str, Any]) -> None:
    members, orphans, kind = list(record["members"]), list(record["orphans"]), str(record["plan"])
    ORDER.index(kind)
    _number(record["m"])
    past.last_stop = record
    if kind in ASKED:
        _ask(past, kind)
    for process in [m for m in past.open.values() if m.member in members]:
        process.sent.append(str(record["signal"]))
    for orphan in [o for o in past.orphans.values() if o.pid in orphans]:
        orphan.sent.append(str(record["signal"]))


def _requested(past: Past, record: dict[str, Any]) -> None:
    past.requests.add(f"{record['id']}.json")
    if "refused" not in record and record.get("what") in ASKED:
        _ask(past, str(record["what"]))


def _ask(past: Past, kind: str) -> None:
    if past.asked is None or ORDER.index(kind) > ORDER.index(past.asked):
        past.asked = kind


def _held(past: Past, _record: dict[str, Any]) -> None:
    past.was_held = True


def _ranks_ended(past: Past, record: dict[str, Any]) -> None:
    past.ranks_done_m = _number(record["m"])


def _leftovers_kept(past: Past, _record: dict[str, Any]) -> None:
    past.kept = True


def _over(past: Past, _record: dict[str, Any]) -> None:
    past.done = True


_HANDLERS: dict[str, Callable[[Past, dict[str, Any]], None]] = {
    "header": _header,
    "shim": _shim,
    "spawning": _spawning,
    "spawned": _spawned,
    "spawn_failed": _spawn_failed,
    "spawn_done": _spawning_ended,
    "exit": _exited,
    "lost": _unseen,
    "not_observable": _unseen,
    "adopted": _adopted,
    "orphan_exit": _orphan_ended,
    "first_failure": _failed,
    "stop": _stopped,
    "request": _requested,
    "hold": _held,
    "ranks_done": _ranks_ended,
    "leftovers": _leftovers_kept,
    "done": _over,
}
