"""Resource limits that the job inherits: open files, locked memory, processes, core files."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.model.wording import size
from grpotui_supervisor.preflight import framework
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.preflight.check import Job, Result

_FILES_RAY: Final = 8192
_FILES: Final = 1024
_TASKS_RAY: Final = 4096
_TASKS: Final = 1024
"""Threads of one rank with its loaders and BLAS come to some hundred; Ray's workers to thousands."""
_INFINIBAND: Final = "/sys/class/infiniband"
_PIDS: Final = "/sys/fs/cgroup/pids.max"


class _Limits:
    name = "limits"
    title = "Resource limits"
    limit_s = 5.0

    def run(self, job: Job) -> Result:
        """Those of this process: what it starts inherits them."""
        found = {
            name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in ("NOFILE", "MEMLOCK", "CORE")
        }
        tasks = _tasks()
        ray = framework.uses_ray(job)
        findings = [
            *files(*found["NOFILE"], ray=ray),
            *processes(tasks, ray=ray),
            *locked(found["MEMLOCK"][0], rdma=os.path.isdir(_INFINIBAND)),
            Finding("passed", "a crash writes " + ("no core file" if found["CORE"][0] == 0 else "a core file")),
        ]
        return together(
            findings, {**{name.lower(): _number(soft) for name, (soft, _) in found.items()}, "tasks": tasks}
        )


def files(soft: int, hard: int, *, ray: bool) -> Iterator[Finding]:
    """Open files: Ray holds a socket for every worker, and `Too many open files` ends it in the middle of a run."""
    need = _FILES_RAY if ray else _FILES
    words = f"{_shown(soft)} open files"
    if soft == resource.RLIM_INFINITY or soft >= need:
        yield Finding("passed", words)
        return
    can = hard == resource.RLIM_INFINITY or hard >= need
    how = f"ulimit -n {65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)} before the launch"
    raise_it = f"a higher hard limit (now {hard}): limits.conf, LimitNOFILE, docker --ulimit nofile=65536:65536"
    yield Finding(
        "warning", f"{words}, and {'Ray' if ray else 'a trainer'} needs {need} or more",
        how if can else raise_it,
    )  # fmt: skip


def processes(tasks: int | None, *, ray: bool) -> Iterator[Finding]:
    """Processes and threads of this user, or of this container: `pthread_create failed`, `can't start new thread`."""
    need = _TASKS_RAY if ray else _TASKS
    if tasks is None or tasks >= need:
        yield Finding("passed", f"{'no limit of' if tasks is None else tasks} processes")
    else:
        yield Finding("warning", f"{tasks} processes and threads at most, and {need} are needed",
                      "ulimit -u, or the container's --pids-limit / pids.max")  # fmt: skip


def locked(soft: int, *, rdma: bool) -> Iterator[Finding]:
    """Locked memory: registering a buffer with an InfiniBand card needs as much as the buffer has."""
    if soft == resource.RLIM_INFINITY or not rdma:
        yield Finding("passed", f"locked memory {'unlimited' if soft == resource.RLIM_INFINITY else size(soft)}")
    else:
        words = f"locked memory is limited to {size(soft)}, and InfiniBand is here: NCCL cannot register its buffers"
        yield Finding("warning", words, "ulimit -l unlimited (docker --ulimit memlock=-1), or NCCL_IB_DISABLE=1")


def _tasks() -> int | None:
    """The lower of the user's and the container's limit; root has only the container's."""
    soft = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    mine = None if soft == resource.RLIM_INFINITY or os.geteuid() == 0 else soft
    group = _pids_limit()
    return min((one for one in (mine, group) if one is not None), default=None)


def _pids_limit(path: str = _PIDS) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(40).strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdigit() else None


def _number(soft: int) -> int | None:
    return None if soft == resource.RLIM_INFINITY else soft


def _shown(soft: int) -> str:
    return "unlimited" if soft == resource.RLIM_INFINITY else str(soft)


CHECK = _Limits()
