"""The checks, one line each, in the order in which a person reads them.

Those of one group run in this order; all others run beside each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grpotui_supervisor.preflight import (
    bandwidth,
    batches,
    clock,
    collective,
    cuda_init,
    data,
    disk,
    generation,
    gpus,
    hub,
    init_process,
    lengths,
    limits,
    matmul,
    memory_group,
    memory_plan,
    ports,
    reward,
    scheduler,
    shm,
    topology,
    versions,
)

if TYPE_CHECKING:
    from grpotui_supervisor.preflight.check import Check

CHECKS: Final[tuple[Check, ...]] = (
    versions.CHECK,
    gpus.CHECK,
    topology.CHECK,
    cuda_init.CHECK,
    matmul.CHECK,
    collective.CHECK,
    bandwidth.CHECK,
    generation.CHECK,
    memory_plan.CHECK,
    batches.CHECK,
    lengths.CHECK,
    data.CHECK,
    reward.CHECK,
    hub.CHECK,
    memory_group.CHECK,
    disk.CHECK,
    shm.CHECK,
    limits.CHECK,
    ports.CHECK,
    scheduler.CHECK,
    clock.CHECK,
    init_process.CHECK,
)
