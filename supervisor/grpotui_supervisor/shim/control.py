"""Requests: one JSON file each in `control/`, written by a client with tmp + rename, removed when it is on record.

The user who asks is the owner of the file; only root's and our own are obeyed. A request is carried out even when
the record of it has to wait for the disk.
"""

from __future__ import annotations

import json
import os

from grpotui_supervisor.shim import stopping
from grpotui_supervisor.shim.journal import report
from grpotui_supervisor.shim.members import Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpotui_supervisor.shim.job import Job

_LIMIT = 65536
_MOST_S = 3600.0


def obey(job: Job) -> None:
    """Carries out every request that lies in `control/`, oldest name first."""
    folder = f"{job.directory}/control"
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return
    for name in names:
        if name in job.handled_requests:
            continue
        job.handled_requests.add(name)
        _handle(job, name.removesuffix(".json"), f"{folder}/{name}")
        try:
            os.unlink(f"{folder}/{name}")
        except OSError as error:
            report(f"cannot remove the request {name}: {error.strerror}")


def _handle(job: Job, name: str, path: str) -> None:
    try:
        uid, document = _read(path)
    except (OSError, ValueError) as error:
        job.journal.add("request", id=name, refused=f"unreadable: {error}")
        return
    what = str(document.get("what"))
    if uid not in (0, os.geteuid()):
        job.journal.add("request", id=name, what=what, uid=uid, refused="it belongs to another user")
        return
    action = _ACTIONS.get(what)
    if action is None:
        job.journal.add("request", id=name, what=what, uid=uid, refused="unknown request")
        return
    why = str(document.get("why") or f"asked for by uid {uid}")[:200]
    if what != "hold":  # a hold is renewed every few seconds and has a record of its own
        job.journal.add("request", id=name, what=what, uid=uid, why=why)
    action(job, document, why)


def _read(path: str) -> tuple[int, dict[str, Any]]:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        uid, raw = os.fstat(fd).st_uid, os.read(fd, _LIMIT)
    finally:
        os.close(fd)
    document = json.loads(raw)
    if not isinstance(document, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  (one kind of error for one kind of fault)
    return uid, document


def _interrupt(job: Job, _document: dict[str, Any], why: str) -> None:
    job.stopping.ask("interrupt", why)


def _stop(job: Job, _document: dict[str, Any], why: str) -> None:
    job.stopping.ask("stop", why)


def _kill(job: Job, _document: dict[str, Any], why: str) -> None:
    job.stopping.ask("kill", why)


def _leftovers(job: Job, _document: dict[str, Any], why: str) -> None:
    if not job.table.alive(leading=True):
        job.stopping.begin("leftovers", why)


def _hold(job: Job, document: dict[str, Any], why: str) -> None:
    try:
        seconds = min(max(float(document.get("seconds", 5)), 0.0), _MOST_S)
    except (TypeError, ValueError):
        return
    until = job.stopping.hold(job.now(), seconds)
    if until and job.stopping.hold_why != why:
        job.stopping.hold_why = why
        job.journal.add("hold", why=why, seconds=seconds, until_m=until)


def _fail(job: Job, document: dict[str, Any], _why: str) -> None:
    """The monitor saw a rank leave early: its peers have had their grace already."""
    rank = document.get("rank")
    member = Member(str(document.get("member")), 0, 0, rank=rank if isinstance(rank, int) else None, role="rank")
    stopping.fail(job, member, {"how": "left_early"}, grace=0)


_ACTIONS = {
    "interrupt": _interrupt,
    "stop": _stop,
    "kill": _kill,
    "leftovers": _leftovers,
    "hold": _hold,
    "fail": _fail,
}
