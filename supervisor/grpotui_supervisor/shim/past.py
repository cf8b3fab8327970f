"""The record, folded into what a successor must know. No line can raise: a torn or foreign one changes nothing."""

from __future__ import annotations

from grpotui_supervisor.shim import ending, stopping
from grpotui_supervisor.shim.journal import report
from grpotui_supervisor.shim.members import Member, Orphan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


class Past:
    """What the record tells: who was started, who ended, and what was under way."""

    def __init__(self) -> None:
        self.open: dict[tuple[int, int], Member] = {}
        self.ended: dict[tuple[int, int], str] = {}
        self.orphans: dict[tuple[int, int], Orphan] = {}
        self.orphans_ended: set[tuple[int, int]] = set()
        self.attempted: set[str] = set()
        self.started: set[str] = set()
        self.spawn_done = False
        self.failures: list[dict[str, Any]] = []
        self.worker_failure: Member | None = None
        self.first_failure_m: int | None = None
        self.last_stop: dict[str, Any] | None = None
        self.asked = False
        self.requests: set[str] = set()
        self.ranks_done_m: int | None = None
        self.done = False
        self.kept = False
        self.hold_m = 0

    def take(self, records: Iterable[dict[str, Any]]) -> None:
        """Folds the records in their order."""
        for record in records:
            handler = _HANDLERS.get(record["ev"])
            try:
                if handler is not None:
                    handler(self, record)
            except (KeyError, TypeError, ValueError) as error:
                report(f"passed over a record: {type(error).__name__} {error}")


def _key(record: dict[str, Any]) -> tuple[int, int]:
    return int(record["pid"]), int(record["start"])


def _spawning(past: Past, record: dict[str, Any]) -> None:
    past.attempted.add(str(record["member"]))


def _spawned(past: Past, record: dict[str, Any]) -> None:
    key, owned = _key(record), bool(record["owned"])
    past.started.add(str(record["member"]))
    past.open[key] = Member(
        str(record["member"]), *key, rank=record["rank"], role=str(record["role"]), owned=owned, child=False
    )


def _spawn_failed(past: Past, record: dict[str, Any]) -> None:
    past.started.add(str(record["member"]))
    past.failures.append(record)


def _spawning_ended(past: Past, _record: dict[str, Any]) -> None:
    past.spawn_done = True


def _exited(past: Past, record: dict[str, Any]) -> None:
    member = _close(past, record)
    if member is None or record.get("code") == 0 or record["sent"] or past.asked:
        return
    if member.leads:
        past.failures.append(record)
    elif not member.owned and member.rank is not None and past.worker_failure is None:
        past.worker_failure = member
        member.ending = ending.from_record(record)


def _unseen(past: Past, record: dict[str, Any]) -> None:
    _close(past, record)


def _close(past: Past, record: dict[str, Any]) -> Member | None:
    key = _key(record)
    past.ended[key] = str(record["member"])
    return past.open.pop(key, None)


def _adopted(past: Past, record: dict[str, Any]) -> None:
    key = _key(record)
    past.orphans[key] = Orphan(*key, str(record["name"]), child=False)


def _orphan_ended(past: Past, record: dict[str, Any]) -> None:
    key = _key(record)
    past.orphans.pop(key, None)
    past.orphans_ended.add(key)


def _failed(past: Past, record: dict[str, Any]) -> None:
    past.first_failure_m = int(record["m"])


def _stopped(past: Past, record: dict[str, Any]) -> None:
    past.last_stop = record
    past.asked = past.asked or record["plan"] in stopping.ASKED
    for member in past.open.values():
        if member.member in record["members"]:
            member.sent.append(str(record["signal"]))
    for orphan in past.orphans.values():
        if orphan.pid in record["orphans"]:
            orphan.sent.append(str(record["signal"]))


def _requested(past: Past, record: dict[str, Any]) -> None:
    past.requests.add(f"{record['id']}.json")
    past.asked = past.asked or ("refused" not in record and record.get("what") in stopping.ASKED)


def _held(past: Past, record: dict[str, Any]) -> None:
    past.hold_m = int(record["until_m"])


def _ranks_ended(past: Past, record: dict[str, Any]) -> None:
    past.ranks_done_m = int(record["m"])


def _leftovers_kept(past: Past, _record: dict[str, Any]) -> None:
    past.kept = True


def _over(past: Past, _record: dict[str, Any]) -> None:
    past.done = True


_HANDLERS: dict[str, Callable[[Past, dict[str, Any]], None]] = {
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
