"""Deaths: peek at the status, record it, and only then reap.

Until a record is in the file the kernel's zombie holds the status, so a killed worker or a full disk loses nothing.
"""

from __future__ import annotations

import os

from grpotui_supervisor.shim import ending, kernel, pidfd, procfs, stopping
from grpotui_supervisor.shim.members import Member, Orphan

TYPE_CHECKING = False
if TYPE_CHECKING:
    import resource

    from grpotui_supervisor.shim.ending import Ending
    from grpotui_supervisor.shim.job import Job

_UNSEEN = "it was another process's child, and the kernel gave no exit status for it"


def collect(job: Job, dead: list[Member]) -> None:
    """Records the given deaths in their order, then whatever else has ended, then reaps what is on record."""
    for member in dead:
        note_member(job, member)
        if member.ending is None:
            job.unwatch(member)  # a debugger holds its zombie: it is looked at once a round until that lets go
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
    job.unwatch(member)
    if found["how"] != "not_observable":
        member.seq = job.journal.add("exit", **member.named(), **found, sent=list(member.sent))
    elif member.owned:
        member.seq = job.journal.add("lost", **member.named(), reason=_UNSEEN, sent=list(member.sent))
    else:
        member.seq = job.journal.add("not_observable", **member.named(), reason=_UNSEEN)
    stopping.note_end(job, member)


def _peek(job: Job, member: Member) -> Ending | None:
    try:
        info = kernel.peek(member.pid)
    except ChildProcessError:
        member.child = False
        return _peek_foreign(job, member)
    if not member.child:  # an observed worker becomes our child when its launcher dies
        found = procfs.stat(member.pid)
        if found is not None and found.start != member.start:
            return _peek_foreign(job, member)  # another child of ours has got its pid
        member.child = True
    return None if info is None else ending.from_siginfo(info)


def _peek_foreign(job: Job, member: Member) -> Ending | None:
    if procfs.is_alive(member.pid, member.start):
        return None
    if member.fd is None:
        raw = procfs.zombie_status(member.pid, member.start)
    else:
        raw = pidfd.foreign_status(member.fd, member.pid, member.start, use_info=job.spec.use_pidfd_info)
    return ending.NOT_OBSERVABLE if raw is None else ending.from_wait_status(raw)


def adopt(job: Job) -> None:
    """Takes note of orphans: children that were reparented to us; in adopt mode also marked ones without a parent."""
    for pid in procfs.children(os.getpid()):
        if job.table.knows(pid):
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
        if found is not None and not found.has_ended and found.ppid not in ours | job.table.members.keys():
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
        info = kernel.peek(orphan.pid)
    except ChildProcessError:
        orphan.child = False
        if procfs.is_alive(orphan.pid, orphan.start):
            return
        found = ending.NOT_OBSERVABLE
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
            _record_usage(job, member)
        job.drop(member)
    for orphan in [o for o in job.table.orphans.values() if o.ending and job.journal.is_written(o.seq)]:
        if orphan.child:
            _wait(orphan.pid)
        del job.table.orphans[orphan.pid]


def _record_usage(job: Job, member: Member) -> None:
    """Peak memory is true only because the member was started from a small process."""
    usage = _wait(member.pid)
    if usage is not None:
        job.journal.add(
            "rusage",
            member=member.member,
            pid=member.pid,
            max_rss_bytes=usage.ru_maxrss * 1024,
            user_s=round(usage.ru_utime, 3),
            system_s=round(usage.ru_stime, 3),
        )


def _wait(pid: int) -> resource.struct_rusage | None:
    """Lets the kernel forget a child that has ended."""
    try:
        return os.wait4(pid, os.WNOHANG)[2]
    except ChildProcessError:
        return None
