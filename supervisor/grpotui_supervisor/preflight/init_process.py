"""Whether process 1 reaps what falls to it: a `sleep` or a trainer as a container's first process does not.

Nothing is tried: where it does not reap, a process that was started to see that would stay for ever.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.preflight.finding import Finding, together
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from grpotui_supervisor.preflight.check import Job, Result

_REAPERS: Final = frozenset({
    "systemd", "init", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan", "runit", "runsvdir", "pause",
    "supervisord", "bash", "sh", "dash", "busybox", "launchd", "openrc-init", "containerd-shim",
})  # fmt: skip
_SECONDS: Final = 0.3
"""A process that reaps does so within milliseconds."""
_OLD_S: Final = 60.0
"""When one has died is not told, only when it was started: the young may have died just now, and some first processes
reap once a second or less often."""
_POLL_S: Final = 0.05
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_NEXT: Final = "docker run --init; in Kubernetes shareProcessNamespace: true, or tini as the first process"


class _InitProcess:
    name = "init_process"
    title = "Process 1"
    limit_s = 5.0

    def run(self, job: Job) -> Result:
        """By the dead that it has left so far."""
        stuck = _zombies()
        deadline = time.monotonic() + _SECONDS
        while stuck and time.monotonic() < deadline and not (job.stopping and job.stopping.is_set()):
            time.sleep(_POLL_S)
            stuck &= _zombies()
        first = procfs.stat(1)
        return together([judged(None if first is None else first.name, len(stuck))], {"zombies": len(stuck)})


def judged(name: str | None, stuck: int) -> Finding:
    """`stuck`: dead processes that stay its children."""
    if stuck:
        words = (
            f"process 1 ({name or 'name unknown'}) has left {stuck} dead process{'es' if stuck > 1 else ''} unreaped"
        )
        return Finding("warning", f"{words}: what outlives a run stays in the process table", _NEXT)
    if name is None:
        return Finding("unchecked", "process 1 cannot be seen from here")
    if name in _REAPERS:
        return Finding("passed", f"process 1 is {name}, which reaps; no dead process waits for it")
    return Finding("passed", f"process 1 is {name}: whether it reaps is not known, but no dead process waits for it")


def _zombies() -> set[tuple[int, int]]:
    """Pid and start of the dead children of process 1 that are not young."""
    found = ((pid, procfs.stat(pid)) for pid in procfs.pids())
    latest = (time.clock_gettime(time.CLOCK_BOOTTIME) - _OLD_S) * _TICKS
    return {
        (pid, stat.start)
        for pid, stat in found
        if stat is not None and stat.ppid == 1 and stat.has_ended and stat.start < latest
    }


CHECK = _InitProcess()
