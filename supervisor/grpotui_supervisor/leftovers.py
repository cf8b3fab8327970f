"""What is alive of a run after its ranks, and its end.

A process is of the run when it carries the run's mark in its environment, or when the shim recorded it as adopted;
without a shim only the mark counts. It is signalled through a descriptor that was opened for exactly the process that
was found, so that a pid which has become another process's is never hit.
"""

from __future__ import annotations

import os
import select
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpotui_supervisor.model.members import Leftover, MemberState, NotObservable
from grpotui_supervisor.model.run_state import RunState, ending
from grpotui_supervisor.shim import ending as endings
from grpotui_supervisor.shim import pidfd, procfs
from grpotui_supervisor.source.changes import LeftoverEnded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_UNKILLABLE_S = 30.0
_POLL_MS = 100
_ROUNDS = 5
"""What the processes start while they are being ended is ended too; nothing that is alive goes on like that."""
UNMARKED = "it does not carry the mark of this run (any more): nothing was sent to it"
UNSEEN = "how it ended was told to its parent only"
HUNG = "it survives KILL: it hangs in the kernel or a driver"


def living(run_id: str, state: RunState) -> list[Leftover]:
    """Processes of the run that are no members of it and live now, by pid."""
    known = [left for left in state.leftovers.values() if procfs.is_alive(left.pid, left.start)]
    members = {m.pid for m in state.members.values() if m.is_open and m.owned} if not state.unsupervised else set()
    found = {left.pid: left for left in [*_marked(run_id), *known]}
    return [left for pid, left in sorted(found.items()) if pid not in members]


def carries_mark(run_id: str, pid: int) -> bool:
    """Whether the process carries the run's mark and is of the asking user."""
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return False
    return uid == os.geteuid() and procfs.environment(pid).get(procfs.RUN_MARK) == run_id


def _marked(run_id: str) -> Iterator[Leftover]:
    for pid in procfs.marked(run_id):
        found = procfs.stat(pid)
        if found is None or found.has_ended or pid == os.getpid() or not carries_mark(run_id, pid):
            continue
        member = procfs.environment(pid).get(procfs.MEMBER_MARK)
        yield Leftover(pid=pid, start=found.start, name=procfs.title(pid) or found.name, member=member)


@dataclass(frozen=True, slots=True)
class _Held:
    left: Leftover
    fd: int


def end(
    run_id: str, found: Sequence[Leftover], *, terminate_s: float, is_interrupted: Callable[[], bool]
) -> Iterator[LeftoverEnded]:
    """Ends these with TERM, and after `terminate_s` with KILL; tells of each what became of it, as it comes.

    Nothing is sent to what does not carry the run's mark, is another user's, or has another start time than found.
    Stops short once `is_interrupted`.
    """
    told: set[tuple[int, int]] = set()
    for _ in range(_ROUNDS):
        told |= {(left.pid, left.start) for left in found}
        yield from _end(run_id, found, terminate_s, is_interrupted)
        found = [left for left in _marked(run_id) if (left.pid, left.start) not in told]
        if not found:
            return


def _end(
    run_id: str, found: Sequence[Leftover], terminate_s: float, is_interrupted: Callable[[], bool]
) -> Iterator[LeftoverEnded]:
    held: dict[int, _Held] = {}
    sent: list[str] = []
    try:
        for left in found:
            fd = pidfd.open_verified(left.pid, left.start)
            if fd is None:
                yield LeftoverEnded(left, NotObservable("it had ended before anything was sent to it"), ())
            elif not carries_mark(run_id, left.pid):
                os.close(fd)
                yield LeftoverEnded(left, None, (), UNMARKED)
            else:
                held[fd] = _Held(left, fd)
        for number, seconds in ((signal.SIGTERM, terminate_s), (signal.SIGKILL, _UNKILLABLE_S)):
            if held and not is_interrupted():
                sent.append(number.name)
                for fd in held:
                    pidfd.send(fd, number)
                    pidfd.send(fd, signal.SIGCONT)
                yield from _await(held, tuple(sent), seconds, is_interrupted)
        reason = HUNG if "SIGKILL" in sent else "it was waited for no more"
        yield from [LeftoverEnded(one.left, None, tuple(sent), reason) for one in held.values()]
    finally:
        for fd in held:
            os.close(fd)


def _await(
    held: dict[int, _Held], sent: tuple[str, ...], seconds: float, is_interrupted: Callable[[], bool]
) -> Iterator[LeftoverEnded]:
    """Takes those out that end within that time."""
    poll, deadline = select.poll(), time.monotonic() + seconds
    for fd in held:
        poll.register(fd, select.POLLIN)
    while held and time.monotonic() < deadline and not is_interrupted():
        for fd, _ in poll.poll(min(_POLL_MS, max(0, (deadline - time.monotonic()) * 1000))):
            poll.unregister(fd)
            one = held.pop(fd)
            raw = pidfd.foreign_status(fd, one.left.pid, one.left.start, use_info=True)
            os.close(fd)
            yield LeftoverEnded(one.left, _state(raw), sent)


def _state(raw: int | None) -> MemberState:
    return NotObservable(UNSEEN) if raw is None else ending({**endings.from_wait_status(raw)})
