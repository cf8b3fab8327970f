"""The host's memory that the job may use, by its cgroup and by what is free, against the host's part of the plan."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import psutil

from grpotui_supervisor import cgroup, planning
from grpotui_supervisor.errors import PlanError
from grpotui_supervisor.model.wording import size
from grpotui_supervisor.plan.machine import Machine
from grpotui_supervisor.preflight import framework, said
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.preflight.check import Job, Result

_RAY_SHARE: Final = 0.95
"""From here on Ray's memory monitor kills workers (RAY_memory_usage_threshold)."""


class _MemoryGroup:
    name = "memory_group"
    title = "Host memory"
    limit_s = 5.0

    def run(self, job: Job) -> Result:
        """Of this process's cgroup: the job starts in it, or below it."""
        place = cgroup.find(os.getpid())
        used = None if isinstance(place, str) else cgroup.read(place)
        cache = 0 if isinstance(place, str) else _cache(place)
        limit = None if used is None else used.limit_bytes
        room = (
            None if limit is None or used is None or used.current_bytes is None else limit - used.current_bytes + cache
        )
        found = list(
            judged(int(psutil.virtual_memory().available), limit, room, _wanted(job), ray=framework.uses_ray(job))
        )
        return together(found, {"limit_bytes": limit, "room_bytes": room})


def judged(free: int, limit: int | None, room: int | None, wanted: int | None, *, ray: bool) -> Iterator[Finding]:
    """All in bytes.

    Args:
        free: what the host has available.
        limit: of the cgroup; None: there is none.
        room: what is left below that.
        wanted: what the plan puts on the host; None: not known.
        ray: whether Ray watches the limit.
    """
    words = f"host memory: {size(free)} available"
    if limit is not None:
        words += f"; the memory cgroup allows {size(limit)}" + ("" if room is None else f", {size(room)} of it unused")
    have = free if room is None else min(free, room)
    if limit is not None and ray:
        have -= round(limit * (1 - _RAY_SHARE))
        words += ", and Ray ends workers at 95 % of it"
    if wanted is None:
        yield Finding("passed", f"{words}; what the plan puts on the host is not known")
    elif wanted > have:
        more = "" if limit is None else ", or a higher limit (docker --memory, #SBATCH --mem, resources.limits.memory)"
        yield Finding("failed", f"{words}; the plan puts {size(wanted)} on it", f"offload less{more}")
    else:
        yield Finding("passed", words + (f"; the plan puts {size(wanted)} on it" if wanted else ""))


def _wanted(job: Job) -> int | None:
    """What the plan offloads to this host."""
    profile, command = job.loaded.profile, said.command(job)
    if command.kind is None or framework.nodes(command) != 1:
        return None
    machine = Machine(cards=command.world, card_bytes=1)
    try:
        found = planning.of_profile(profile, machine, folder=said.folder(job), environment=job.environment)
    except PlanError:
        return None
    return None if found.memory is None else found.memory.host_total


def _cache(place: cgroup.Place) -> int:
    """Bytes of files that the kernel keeps for speed and gives up first."""
    name = "inactive_file" if place.version == "v2" else "total_inactive_file"
    try:
        with open(os.path.join(place.folder, "memory.stat"), encoding="ascii") as file:
            pairs = dict(line.split(maxsplit=1) for line in file if " " in line)
        return int(pairs.get(name, "0"))
    except (OSError, ValueError):
        return 0


CHECK = _MemoryGroup()
