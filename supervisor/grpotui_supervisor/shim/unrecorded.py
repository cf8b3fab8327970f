"""A start that was cut short: `spawning` is on record, and nothing after it.

Whether the process exists has to be found out before anything else is started: no rank may run twice.
"""

from __future__ import annotations

import os
import time

from grpotui_supervisor.shim import kernel, procfs, spawning
from grpotui_supervisor.shim.members import Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpotui_supervisor.shim.job import Job
    from grpotui_supervisor.shim.past import Past

_EXEC_NS = 1_000_000_000
_UNCLEAR = -1
_NOBODY_KNOWS = "the shim ended before its start was on record, and no process of it is there"


def finish_spawning(job: Job, past: Past, *, may_start: bool) -> None:
    """Goes on with a start that the worker's death cut short, unless something has failed or was stopped."""
    if past.spawn_done:
        return
    for start in job.spec.starts:
        past.planned.setdefault(start.member, Member(start.member, 0, 0, rank=start.rank, role=start.role))
    possible = past.attempted if may_start or job.spec.adopt else past.planned
    for name in [name for name in past.planned if name in possible and name not in past.started]:
        _settle(job, past, name, may_start=may_start)
    if may_start:
        spawning.spawn_all(job, [start for start in job.spec.starts if start.member not in past.started])
    else:
        job.journal.add("spawn_done", not_started=[name for name in past.planned if name not in past.started])


def _settle(job: Job, past: Past, name: str, *, may_start: bool) -> None:
    since = procfs.start_ticks(past.attempted.get(name, 0)) - 1
    pid = _child(job, name, since) if may_start else _orphaned(job, name)
    planned = past.planned[name]
    if pid is not None:
        member = Member(name, pid, 0, rank=planned.rank, role=planned.role, child=kernel.is_child(pid))
        spawning.spawned(job, member, recovered=True)
    elif not may_start:
        place = {"member": name, "rank": planned.rank, "role": planned.role, "pid": None, "start": None}
        job.journal.add("lost", **place, reason=_NOBODY_KNOWS, sent=[])
    else:
        return  # it was never there: it is started now
    past.started.add(name)


def _child(job: Job, name: str, since: int) -> int | None:
    """The process of that start among our children.

    It may have been left between fork and exec, where it still looks like the shim, or in the middle of exec, where it
    looks like nothing: such a child is given time. One that never gets beyond fork is taken for what it must be, since
    starts follow one another.
    """
    own, deadline = procfs.command_line(os.getpid()), job.now() + _EXEC_NS
    while True:
        unknown = [pid for pid in procfs.offspring(os.getpid()) if not job.table.knows(pid)]
        looks = {pid: _look(pid, name, since, own) for pid in unknown}
        found = [(start, pid) for pid, start in looks.items() if start not in (None, _UNCLEAR)]
        if found:
            return min(found)[1]
        if _UNCLEAR not in looks.values():
            return None
        if job.now() > deadline:
            return next((pid for pid in unknown if procfs.command_line(pid) == own), None)
        time.sleep(0.005)


def _look(pid: int, name: str, since: int, own: bytes) -> int | None:
    """The start time of a child that is the one; None for another; `_UNCLEAR` when it cannot be told yet.

    A session leader with the mark; a zombie has no environment any more, but a time at which it was started. What the
    process left behind may carry its mark and be our child as well, but is younger: the oldest counts. The order of the
    three looks matters, since the child goes on meanwhile: it execs after the first look only if that says so, and a
    missing environment means nothing when the last look finds it dead.
    """
    words = procfs.command_line(pid)
    environment = procfs.environment(pid)
    found = procfs.stat(pid)
    if found is None:
        return None
    if found.has_ended:
        return found.start if found.sid == pid and found.start >= since else None
    if words in (own, b"") or not environment:
        return _UNCLEAR
    return found.start if found.sid == pid and environment.get(procfs.MEMBER_MARK) == name else None


def _orphaned(job: Job, name: str) -> int | None:
    """The process of that start wherever it is now, by both its marks."""
    found = [
        (stat.start, pid)
        for pid in procfs.marked(job.spec.run)
        if not job.table.knows(pid)
        and procfs.environment(pid).get(procfs.MEMBER_MARK) == name
        and (stat := procfs.stat(pid)) is not None
        and stat.sid == pid
    ]
    return min(found)[1] if found else None
