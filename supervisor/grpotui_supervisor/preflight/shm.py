"""Shared memory: NCCL's buffers, PyTorch's data loaders and Ray's object store lie in /dev/shm."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import psutil

from grpotui_supervisor.model.wording import size
from grpotui_supervisor.preflight import framework
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.preflight.check import Job, Result

_FOLDER: Final = "/dev/shm"  # noqa: S108
_LEAST: Final = 1 << 30
"""A container's default of 64 MiB is too little for two ranks of NCCL (10 MB a connection) or one data loader."""
_RAY_SHARE: Final = 0.3
_RAY_MOST: Final = 200 * 10**9
"""Ray's object store by default; what does not fit into /dev/shm goes to the disk."""
_NEXT: Final = "docker run --shm-size=16g (or --ipc=host); in Kubernetes an emptyDir with medium: Memory at /dev/shm"


class _Shm:
    name = "shm"
    title = "Shared memory"
    limit_s = 5.0

    def run(self, job: Job) -> Result:
        """Size and room of /dev/shm as this process, and so the job, sees it."""
        try:
            stat = os.statvfs(_FOLDER)
        except OSError as error:
            words = f"{_FOLDER} cannot be read: {error.strerror}"
            return together([Finding("warning", words, "mount a tmpfs there")])
        total, free = stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize
        memory = int(psutil.virtual_memory().total)
        ray = min(round(memory * _RAY_SHARE), _RAY_MOST) if framework.uses_ray(job) else None
        return together(list(judged(total, free, ray)), {"total_bytes": total, "free_bytes": free})


def judged(total: int, free: int, ray: int | None) -> Iterator[Finding]:
    """All in bytes; `ray`: what its object store will want, None without Ray."""
    words = f"{_FOLDER} has {size(total)}, {size(free)} free"
    if free < _LEAST:
        full = "" if total < _LEAST else "; what lies there is of others, or left from a crash (ls -l /dev/shm)"
        yield Finding("warning", words + full, _NEXT if total < _LEAST else "remove what nobody uses")
    elif ray is not None and free < ray:
        more = f"{words}: Ray's object store of {size(ray)} will be on the disk, and slow"
        yield Finding("warning", more, f"{_NEXT}; or ray_kwargs.ray_init.object_store_memory={free // 2}")
    else:
        yield Finding("passed", words)


CHECK = _Shm()
