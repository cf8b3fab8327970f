"""What the shim costs beside a job: little memory, no CPU, no descriptor that adds up."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.runs import SHIM, rank_argv
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from support.gates import Gate
    from support.runs import ShimRun

SLEEP = ["/bin/sleep", "3600"]
_MIB = 1 << 20


def pss(pid: int) -> int:
    """Proportional set size in bytes."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))


def ticks(run: ShimRun) -> int:
    """CPU time of both processes, in hundredths of a second."""
    found = [procfs.stat(pid) for pid in (run.worker, run.guard)]
    return sum(stat.cpu_ticks for stat in found if stat is not None)


def test_memory_and_cpu_while_64_ranks_run(shim: ShimRun) -> None:
    shim.start([SLEEP] * 64)
    shim.wait_for("spawn_done")
    assert pss(shim.worker) + pss(shim.guard) <= 14 * _MIB
    before = ticks(shim)
    time.sleep(3)  # what is measured is the time itself
    assert ticks(shim) - before <= 3


def test_no_cpu_while_a_failed_run_keeps_its_leftovers(shim: ShimRun) -> None:
    """A failure, a grace that is over and a kept leftover: nothing is left to be decided."""
    shim.start([rank_argv("orphan"), rank_argv("exit3")], limits={"leftover_grace": 0.1, "leftovers": "keep"})
    shim.wait_for("leftovers")
    before = ticks(shim)
    time.sleep(2)  # what is measured is the time itself
    assert ticks(shim) - before <= 3


def test_nothing_adds_up(shim: ShimRun, gate: Gate) -> None:
    """A hold is renewed every second for hours; ranks and orphans come and go."""
    shim.start([*gate.fates(30), rank_argv("orphan"), SLEEP], limits={"grace": 600})
    shim.wait_for("adopted")
    shim.wait_for("rusage")
    before = _descriptors(shim.worker)
    gate.open()
    shim.wait_for("rusage", count=31)
    for _ in range(300):
        (shim.path / "control/x.tmp").write_text('{"what": "hold", "seconds": 1, "why": "saving"}')
        (shim.path / "control/x.tmp").rename(shim.path / f"control/{time.time_ns()}.json")
    wait_until(lambda: not os.listdir(shim.path / "control"), what="the removal of all requests")
    assert _descriptors(shim.worker) == before - 30
    assert len(shim.of("hold")) == 1
    assert len(shim.of("request")) == 0


def _descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.parametrize("module", ["typing", "dataclasses", "asyncio", "subprocess", "socket", "logging"])
def test_modules_that_cost_memory_are_not_imported(module: str) -> None:
    code = (
        f"import sys; sys.path.append({os.path.dirname(os.path.dirname(SHIM))!r})\n"
        f"import grpotui_supervisor.shim.guard; sys.exit({module!r} in sys.modules)"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-I", "-S", "-c", code]) == 0
