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
    from grpotui_supervisor.shim.procfs import Stat

_EXEC_NS = 1_000_000_000
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

    It may have been left between fork and exec, where it still looks like the shim: it is given time, and then taken
    for what it must be, since starts follow one another.
    """
    own, deadline = procfs.command_line(os.getpid()), job.now() + _EXEC_NS
    while True:
        unknown = [pid for pid in procfs.offspring(os.getpid()) if not job.table.knows(pid)]
        before_exec = [pid for pid in unknown if procfs.command_line(pid) == own]
        if not before_exec or job.now() > deadline:
            break
        time.sleep(0.005)
    found = [(stat.start, pid) for pid in unknown if (stat := procfs.stat(pid)) and _fits(stat, pid, name, since)]
    return min(found)[1] if found else next(iter(before_exec), None)


def _fits(stat: Stat, pid: int, name: str, since: int) -> bool:
    """A session leader with the mark; a zombie has no environment any more, but a time at which it was started.

    What the process left behind may carry its mark and be our child as well, but is younger: the oldest counts.
    """
    if stat.sid != pid:
        return False
    return stat.start >= since if stat.has_ended else procfs.environment(pid).get(procfs.MEMBER_MARK) == name


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
