"""What a scheduler gives the job, against what the profile asks for: SLURM's allocation, the CPUs of a container."""

from __future__ import annotations

import math
import os
import re
import time
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.preflight import framework, said
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grpotui_supervisor.preflight.check import Job

_QUOTA: Final = "/sys/fs/cgroup/cpu.max"
_SHORT_S: Final = 1800.0
"""Loading a model, the first step and one checkpoint take as long."""
_COUNT: Final = re.compile(r"(?:[A-Za-z0-9_.-]+:)*([0-9]+)")
"""SLURM_GPUS_ON_NODE=4, SLURM_GPUS_PER_NODE=a100:4."""


class _Scheduler:
    name = "scheduler"
    title = "Scheduler"
    limit_s = 5.0

    def run(self, job: Job) -> Result:
        """SLURM by its variables, Kubernetes by its, CPUs by the affinity and the quota of this process."""
        environment, command = job.environment, said.command(job)
        ranks = (
            max(1, command.world // framework.nodes(command)) if command.kind else job.loaded.profile.launch.nproc or 1
        )
        cpus, total = usable_cpus(_quota()), os.cpu_count() or 1
        found = list(slurm(environment, ranks, time.time()) if "SLURM_JOB_ID" in environment else ())
        if "KUBERNETES_SERVICE_HOST" in environment:
            found.append(Finding("passed", "in a pod of Kubernetes"))
        if not found and cpus >= total:
            return Result(outcome="not_applicable", evidence=f"no scheduler; all {total} CPUs are usable")
        ray = framework.uses_ray(job) and command.settings.text("ray_kwargs.ray_init.num_cpus") is None
        return together([*found, *processors(cpus, total, ranks, ray=ray)], {"cpus": cpus, "cpus_of_machine": total})


def usable_cpus(quota: float | None) -> float:
    """CPUs that this process may run on at once: by its affinity, and by the cgroup's quota."""
    allowed = float(len(os.sched_getaffinity(0)))
    return allowed if quota is None else min(allowed, quota)


def processors(cpus: float, total: int, ranks: int, *, ray: bool) -> Iterator[Finding]:
    """`ray`: it is started with one worker a CPU of the machine, whatever the job may use."""
    words = f"{cpus:g} of {total} CPUs are usable"
    if cpus < ranks:
        yield Finding(
            "warning", f"{words}, for {ranks} ranks on this machine", "more CPUs: --cpus-per-task, resources.limits.cpu"
        )
    elif ray and cpus < total:
        yield Finding(
            "warning", f"{words}, and Ray starts as many workers as the machine has CPUs: some time out meanwhile "
            "(`Unable to register worker with raylet`)", f"ray_kwargs.ray_init.num_cpus={max(1, math.floor(cpus))}",
        )  # fmt: skip
    else:
        yield Finding("passed", words)


def slurm(environment: Mapping[str, str], ranks: int, now: float) -> Iterator[Finding]:
    """`ranks`: on this machine; `now`: unix seconds."""
    yield Finding("passed", f"SLURM job {environment['SLURM_JOB_ID']}")
    gpus = _count(environment.get("SLURM_GPUS_ON_NODE") or environment.get("SLURM_GPUS_PER_NODE"))
    if gpus is not None and gpus < ranks:
        words = f"the allocation has {gpus} GPUs on this node, and the job wants {ranks}"
        yield Finding("failed", words, f"#SBATCH --gpus-per-node={ranks}, or {gpus} ranks")
    tasks = _count(environment.get("SLURM_NTASKS_PER_NODE"))
    if tasks is not None and tasks > 1 and "SLURM_PROCID" in environment:
        yield Finding("warning", f"{tasks} tasks a node: under srun each of them would launch the whole job",
                      "#SBATCH --ntasks-per-node=1")  # fmt: skip
    end = environment.get("SLURM_JOB_END_TIME", "")
    if end.isdigit():
        left = int(end) - now
        words = f"{left / 60:.0f} min of the allocation are left"
        yield Finding("warning", words, "a longer --time") if left < _SHORT_S else Finding("passed", words)


def _count(text: str | None) -> int | None:
    found = None if text is None else _COUNT.match(text)
    return None if found is None else int(found[1])


def _quota(path: str = _QUOTA) -> float | None:
    """CPUs that the cgroup may use at once; None: no quota that can be seen."""
    try:
        with open(path, encoding="ascii") as file:
            quota, period = file.read(64).split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


CHECK = _Scheduler()
