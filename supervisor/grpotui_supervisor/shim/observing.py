"""Workers of a launcher (torchrun, accelerate, deepspeed, Ray): found below the driver, followed by their pidfd.

They are another process's children. Their status is what the kernel tells of them, never what the launcher says.
A worker is the first process on its branch whose environment names a RANK that its parent's does not, or whose title
Ray has set to a worker's.
"""

from __future__ import annotations

from grpotui_supervisor.shim import procfs
from grpotui_supervisor.shim.members import Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

    from grpotui_supervisor.shim.job import Job

_SECOND = 1_000_000_000
_EAGER_S = 20
_EAGER_PERIOD_S = 0.05
_CALM_PERIOD_S = 1.0
_LONGEST_RANK = 8
_RAYS_OWN = ("IDLE", "DashboardAgent", "RuntimeEnvAgent")


class Observer:
    """Looks for new workers: often while the launcher is young or has just changed, else once a second."""

    def __init__(self) -> None:
        self._next = 0
        self._eager_until: int | None = None

    def seconds_to_next(self, now: int) -> float:
        """How long the loop may sleep before the next look."""
        return max(0.0, (self._next - now) / _SECOND)

    def stir(self, now: int) -> None:
        """Something changed: a worker came or went, so others may follow (an elastic restart)."""
        self._eager_until = now + _EAGER_S * _SECOND

    def look(self, job: Job) -> None:
        """Finds workers that are not in the table yet."""
        now = job.now()
        if self._eager_until is None:
            self.stir(now)
        if now < self._next:
            return
        period = _EAGER_PERIOD_S if self._eager_until and now < self._eager_until else _CALM_PERIOD_S
        self._next = now + int(period * _SECOND)
        for driver in job.table.alive(role="driver"):
            if _descend(job, driver.pid):
                self.stir(now)
        for orphan in job.table.living_orphans():  # a daemonised raylet, and whatever it starts
            if _descend(job, orphan.pid):
                self.stir(now)


def _descend(job: Job, top: int) -> bool:
    found = False
    below, seen = [(top, procfs.environment(top).get("RANK"))], {top}
    while below:  # no recursion: a tree may be deeper than our stack
        pid, rank_of_parent = below.pop()
        for child in procfs.children(pid):
            if child in job.table.members or child in seen:
                continue
            seen.add(child)
            environment = procfs.environment(child)
            rank, title = environment.get("RANK"), procfs.title(child)
            if "WORLD_SIZE" in environment and rank != rank_of_parent and _is_number(rank):
                found |= _observe(job, child, int(rank), "rank")
            elif (worker := _ray_class(title)) is not None:
                found |= _observe(job, child, None, worker)
            else:
                below.append((child, rank))
    return found


def _ray_class(title: str) -> str | None:
    """The actor class or function of a Ray worker, as Ray writes it into the title; None for Ray's own processes."""
    prefix, _, rest = title.partition("ray::")
    name = rest.partition(".")[0]
    return name if not prefix and name and name not in _RAYS_OWN else None


def _is_number(word: str | None) -> TypeGuard[str]:
    return word is not None and word.isascii() and word.isdigit() and len(word) < _LONGEST_RANK


def _observe(job: Job, pid: int, rank: int | None, role: str) -> bool:
    found = procfs.stat(pid)
    if found is None or found.has_ended:
        return False
    member = Member(f"pid-{pid}-{found.start}", pid, found.start, rank=rank, role=role, owned=False, child=False)
    if rank is not None:
        job.worker_failure = None  # a new worker means that the launcher dealt with the last failure
    job.watch(member)
    job.journal.add("spawned", **member.named(), owned=False, parent=found.ppid, name=found.name)
    return True
