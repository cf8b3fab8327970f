"""Requests: one JSON file each in `control/`, written by a client with tmp + rename, removed when it is on record.

The user who asks is the owner of the file; only root's and our own are obeyed. A request is carried out even when
the record of it has to wait for the disk. On a disk that takes no file, a signal to the shim asks for the same.
"""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import stat

from grpotui_supervisor.shim import exits, kernel, stopping
from grpotui_supervisor.shim.journal import report
from grpotui_supervisor.shim.members import Member
from grpotui_supervisor.shim.plans import ASKED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpotui_supervisor.shim.job import Job

_LIMIT = 65536
_MOST_S = 3600.0
_PASSING = (errno.ENOENT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""It was taken back, or we could not look: such a request is no bad one."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not hold us up


def obey(job: Job) -> None:
    """Carries out what signals asked for, then every request that lies in `control/`, oldest name first."""
    while job.signals:
        _obey_signal(job, job.signals.pop(0))
    folder = f"{job.directory}/control"
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return
    for name in names:
        if name in job.handled_requests or not _handle(job, name, f"{folder}/{name}"):
            continue
        try:
            os.unlink(f"{folder}/{name}")
        except FileNotFoundError:
            continue
        except OSError as error:
            job.handled_requests.add(name)
            report(f"cannot remove the request {name}: {error.strerror}")


def _obey_signal(job: Job, number: int) -> None:
    what, name = kernel.STOP_SIGNALS[signal.Signals(number)], signal.Signals(number).name
    why = f"{name} to the shim"
    exits.collect(job, job.ready(0))
    job.journal.add("request", id=name, what=what, why=why)
    job.stopping.ask(what, why)


def _handle(job: Job, file: str, path: str) -> bool:
    """Returns whether it is dealt with, and the file may go."""
    try:
        uid, document = _read(path)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, OSError) and error.errno in _PASSING:
            return False
        _refuse(job, file, f"unreadable: {error}")
        return True
    what = str(document.get("what"))[:64]
    action = _ACTIONS.get(what)
    if uid not in (0, os.geteuid()):
        _refuse(job, file, "it belongs to another user", what=what, uid=uid)
    elif action is None:
        _refuse(job, file, "unknown request", what=what, uid=uid)
    else:
        why = str(document.get("why") or f"asked for by uid {uid}")[:200]
        if _note(job, file, what, uid, why):
            action(job, document, why)
    return True


def _refuse(job: Job, file: str, why: str, **more: object) -> None:
    if file not in job.recorded_requests:
        job.journal.add("request", id=file.removesuffix(".json"), **more, refused=why)


def _note(job: Job, file: str, what: str, uid: int, why: str) -> bool:
    """Puts a request on record; returns whether it is to be carried out."""
    if file in job.recorded_requests:  # the only one that is not the same when carried out twice:
        return what != "interrupt"
    if what in ASKED:
        exits.collect(job, job.ready(0))  # who has died by now failed before the stop
    if what != "hold":  # a hold is renewed every few seconds and has a record of its own
        job.journal.add("request", id=file.removesuffix(".json"), what=what, uid=uid, why=why)
    return True


def _read(path: str) -> tuple[int, dict[str, Any]]:
    fd = os.open(path, _READ)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("no regular file")
        raw = os.read(fd, _LIMIT)
    finally:
        os.close(fd)
    document = json.loads(raw)
    if not isinstance(document, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  (one kind of error for one kind of fault)
    return found.st_uid, document


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
        seconds = float(document.get("seconds", 5))
    except (TypeError, ValueError, OverflowError):
        return
    if math.isnan(seconds) or seconds < 0:
        return
    until = job.stopping.hold(job.now(), min(seconds, _MOST_S))
    if until and job.stopping.hold_why != why:
        job.stopping.hold_why = why
        job.journal.add("hold", why=why, seconds=seconds, until_m=until)


def _fail(job: Job, document: dict[str, Any], _why: str) -> None:
    """The monitor saw a rank leave early: its peers have had their grace already."""
    name, rank = str(document.get("member")), document.get("rank")
    if job.stopping.asked or name not in job.table.ended:
        return
    member = Member(name, 0, 0, rank=rank if isinstance(rank, int) else None, role="rank")
    stopping.fail(job, member, {"how": "left_early"}, grace=0)


_ACTIONS = {
    "interrupt": _interrupt,
    "stop": _stop,
    "kill": _kill,
    "leftovers": _leftovers,
    "hold": _hold,
    "fail": _fail,
}
