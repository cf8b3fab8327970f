"""Memory and CPU of the members' process trees, and of the machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Tree:
    """A process with all that descend from it."""

    rss_bytes: int
    """Sum of the resident sets; pages shared among them count more than once."""
    cpu_s: float
    """User and system seconds of those alive."""
    processes: int
    written_bytes: int
    """Bytes handed to write calls so far (`wchar` of /proc/PID/io) by those alive."""


def trees(roots: Iterable[int]) -> dict[int, Tree]:
    """The tree of each root pid that still exists; one walk over /proc for all of them."""
    stats = {pid: found for pid in procfs.pids() if (found := procfs.stat(pid)) is not None}
    below: dict[int, list[int]] = {}
    for pid, found in stats.items():
        below.setdefault(found.ppid, []).append(pid)
    return {root: _sum(_descend(root, below), stats) for root in roots if root in stats}


def _descend(root: int, below: dict[int, list[int]]) -> list[int]:
    pids = [root]
    for pid in pids:
        pids.extend(below.get(pid, ()))
    return pids


def _sum(pids: list[int], stats: dict[int, procfs.Stat]) -> Tree:
    known = [stats[pid] for pid in pids if pid in stats]
    return Tree(
        rss_bytes=sum(s.rss_pages for s in known) * _PAGE,
        cpu_s=round(sum(s.cpu_ticks for s in known) / _TICKS, 2),
        processes=len(known),
        written_bytes=sum(procfs.written_bytes(pid) for pid in pids),
    )


def machine() -> dict[str, Any]:
    """Host memory in bytes, and how many processes the kernel has killed for want of memory since boot."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return {
        "memory_total_bytes": memory.total,
        "memory_available_bytes": memory.available,
        "swap_total_bytes": swap.total,
        "swap_free_bytes": swap.free,
        "oom_kills": _oom_kills(),
    }


def shared_memory(pid: int | None) -> dict[str, int | None]:
    """Size and use of /dev/shm as a process sees it: a container has its own. None where that cannot be seen."""
    try:
        found = None if pid is None else os.statvfs(f"/proc/{pid}/root/dev/shm")
    except OSError:
        found = None
    if found is None or not found.f_blocks:
        return {"shm_total_bytes": None, "shm_used_bytes": None}
    used = found.f_blocks - found.f_bfree
    return {"shm_total_bytes": found.f_blocks * found.f_frsize, "shm_used_bytes": used * found.f_frsize}


def _oom_kills() -> int | None:
    try:
        with open("/proc/vmstat", encoding="ascii") as file:
            found = next((line for line in file if line.startswith("oom_kill ")), None)
    except OSError:
        return None
    return int(found.split()[1]) if found else None
