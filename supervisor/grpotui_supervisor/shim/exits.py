"""Deaths: peek at the status, record it, and only then reap.

Until a record is in the file the kernel's zombie holds the status, so a killed worker or a full disk loses nothing.
"""

from __future__ import annotations

import os

from grpotui_supervisor.shim import ending, pidfd, procfs, stopping
from grpotui_supervisor.shim.members import Member, Orphan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpotui_supervisor.shim.ending import Ending
    from grpotui_supervisor.shim.job import Job

_PEEK = os.WEXITED | os.WNOHANG | os.WNOWAIT
_UNSEEN = "it was another process's child, and the kernel gave no exit status for it"
_NOT_CHILD: Ending = {"how": "not_observable", "code": None, "signal": None, "signo": None, "core": False}


def collect(job: Job, dead: list[Member]) -> None:
    """Records the given deaths in their order, then whatever else has ended, then reaps what is on record."""
    for member in dead:
        note_member(job, member)
    adopt(job)
    for orphan in job.table.living_orphans():
        _note_orphan(job, orphan)
    for member in job.table.alive():
        if member.fd is None:
            note_member(job, member)
    job.journal.flush()
    _reap(job)


def note_member(job: Job, member: Member) -> None:
    """Records a member's end if it has ended; otherwise does nothing."""
    if member.ending is not None:
        return
    found = _peek(job, member)
    if found is None:
        return
    member.ending = found
    if found["how"] != "not_observable":
        member.seq = job.journal.add("exit", **member.named(), **found, sent=list(member.sent))
    elif member.owned:
        member.seq = job.journal.add("lost", **member.named(), reason=_UNSEEN, sent=list(member.sent))
    else:
        member.seq = job.journal.add("not_observable", **member.named(), reason=_UNSEEN)
    stopping.note_end(job, member)


def _peek(job: Job, member: Member) -> Ending | None:
    try:
        info = os.waitid(os.P_PID, member.pid, _PEEK)
    except ChildProcessError:
        return _peek_foreign(job, member)
    member.child = True  # an observed worker becomes our child when its launcher dies
    return None if info is None else ending.from_siginfo(info)


def _peek_foreign(job: Job, member: Member) -> Ending | None:
    if procfs.is_alive(member.pid, member.start):
        return None
    if member.fd is None:
        return _NOT_CHILD
    raw = pidfd.foreign_status(member.fd, member.pid, member.start, use_info=job.spec.use_pidfd_info)
    return _NOT_CHILD if raw is None else ending.from_wait_status(raw)


def adopt(job: Job) -> None:
    """Takes note of orphans: children that were reparented to us; in adopt mode also marked ones without a parent."""
    for pid in procfs.children(os.getpid()):
        if pid in job.table.members or pid in job.table.orphans:
            continue
        found = procfs.stat(pid)
        if found is not None and found.ppid == os.getpid():
            note_orphan(job, Orphan(pid, found.start, procfs.title(pid) or found.name))
    if job.spec.adopt:
        _adopt_marked(job)


def _adopt_marked(job: Job) -> None:
    ours = set(procfs.marked(job.spec.run))
    for pid in ours - job.table.members.keys() - job.table.orphans.keys():
        found = procfs.stat(pid)
        if found is not None and found.state != "Z" and found.ppid not in ours | job.table.members.keys():
            note_orphan(job, Orphan(pid, found.start, procfs.title(pid) or found.name, child=False))


def note_orphan(job: Job, orphan: Orphan) -> None:
    """Puts a newly found orphan into the table and on record, with the rank that its environment names."""
    job.table.orphans[orphan.pid] = orphan
    environment = procfs.environment(orphan.pid)
    job.journal.add(
        "adopted",
        pid=orphan.pid,
        start=orphan.start,
        name=orphan.name,
        marked=environment.get(procfs.RUN_MARK) == job.spec.run,
        member=environment.get(procfs.MEMBER_MARK),
    )


def _note_orphan(job: Job, orphan: Orphan) -> None:
    try:
        info = os.waitid(os.P_PID, orphan.pid, _PEEK)
    except ChildProcessError:
        if procfs.is_alive(orphan.pid, orphan.start):
            return
        found = _NOT_CHILD
    else:
        if info is None:
            return
        found = ending.from_siginfo(info)
        orphan.child = True
    orphan.ending = found
    orphan.seq = job.journal.add(
        "orphan_exit", pid=orphan.pid, start=orphan.start, name=orphan.name, **found, sent=list(orphan.sent)
    )


def _reap(job: Job) -> None:
    for member in [m for m in job.table.members.values() if m.ending and job.journal.is_written(m.seq)]:
        if member.child:
            record_usage(job, member.pid, member.member)
        job.drop(member)
    for orphan in [o for o in job.table.orphans.values() if o.ending and job.journal.is_written(o.seq)]:
        if orphan.child:
            os.waitid(os.P_PID, orphan.pid, os.WEXITED | os.WNOHANG)
        del job.table.orphans[orphan.pid]


def record_usage(job: Job, pid: int, name: str) -> None:
    """Reaps a child; its peak memory is true only because it was started from a small process."""
    usage = os.wait4(pid, os.WNOHANG)[2]
    job.journal.add(
        "rusage",
        member=name,
        pid=pid,
        max_rss_bytes=usage.ru_maxrss * 1024,
        user_s=round(usage.ru_utime, 3),
        system_s=round(usage.ru_stime, 3),
    )
