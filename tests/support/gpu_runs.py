"""Runs whose devices are the stand-in's: a real shim, real ranks and a real monitor, with a baseline of the test's."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim import procfs
from support.runs import ShimRun, records
from support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from support.fake_gpus import FakeGpus

MIB, GIB = 1 << 20, 1 << 30
BASE = 4 * MIB
"""What an idle device of the stand-in holds."""


def baseline(index: int, **changes: Any) -> dict[str, Any]:
    """A device in run.json as it was before the run, with nobody on it."""
    return {
        "gpu": str(index), "index": index, "uuid": f"GPU-00000000-0000-0000-0000-{index:012d}",
        "name": "NVIDIA H100 80GB HBM3", "bus_id": f"00000000:{0x18 + index:02X}:00.0", "total_bytes": 85520809984,
        "reserved_bytes": 628 * MIB, "kind": "v2", "mig": False, "parent": None, "numa": False, "persistence": True,
        "unavailable": None, "in_run": True, "used_bytes": BASE, "idle": True, "idle_evidence": "4.0 MiB used",
        "processes": [], "processes_reason": None, **changes,
    }  # fmt: skip


def listed(pid: int, size: int, kind: str = "compute") -> dict[str, Any]:
    """A process of the baseline."""
    found = procfs.stat(pid)
    start = None if found is None else found.start
    return {"pid": pid, "start": start, "name": "mps", "user": "root", "type": kind, "used_bytes": size}


def facts(path: Path, ranks: int, devices: list[dict[str, Any]] | None, **changes: Any) -> dict[str, Any]:
    """What launch writes of a run of so many ranks."""
    document = {
        "schema": 1, "run": path.name, "node": "node-0", "directory": str(path), "inode": path.stat().st_ino,
        "host": {"hostname": socket.gethostname(), "boot": procfs.boot_id(), "pidns": procfs.pid_namespace()},
        "members": [{"member": str(rank), "rank": rank, "role": "rank"} for rank in range(ranks)],
        "gpus": None, "gpu_unavailable": "none was taken",
    }  # fmt: skip
    if devices is not None:
        document["gpus"] = {"driver": "580", "cuda": "13.0", "m": 1, "t": 1.0, "devices": devices}
        document["gpu_unavailable"] = None
    return {**document, **changes}


@dataclass
class GpuRun:
    """One run, its monitor, and the devices that both the ranks and the monitor are on."""

    path: Path
    gpus: FakeGpus
    shim: ShimRun = field(init=False)
    monitors: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True)
        self.shim = ShimRun(self.path, run=self.path.name)
        self.device_file = self.gpus.folder / "nvidia0"
        self.device_file.touch()

    def start(
        self, argvs: list[list[str]], devices: list[dict[str, Any]] | None, *, more: dict[str, Any] | None = None,
        **specification: Any,
    ) -> GpuRun:  # fmt: skip
        """Ranks and monitor; returns when the ranks are started."""
        (self.path / "run.json").write_text(json.dumps(facts(self.path, len(argvs), devices, **(more or {}))))
        self.shim.start(argvs, **specification)
        self.shim.wait_for("spawned", count=len(argvs))
        self.monitor()
        return self

    def monitor(self) -> None:
        """A monitor that stays our child."""
        env = {**os.environ, **self.gpus.env(), "GRPOTUI_GPU_FILES": str(self.gpus.folder / "nvidia")}
        with (self.path / "monitor.err").open("ab") as stderr:
            self.monitors.append(
                subprocess.Popen([sys.executable, "-c", MONITOR, str(self.path)], env=env, stderr=stderr)
            )

    @property
    def records(self) -> list[dict[str, Any]]:
        return records(self.path / "gpu.jsonl")

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        """Records of these kinds."""
        return [r for r in self.records if r["ev"] in kinds]

    def wait_for(self, kind: str, *, count: int = 1, seconds: float = 20.0, **fields: Any) -> list[dict[str, Any]]:
        """Waits until so many records of the kind hold these fields."""
        return wait_until(
            lambda: found if len(found := [r for r in self.of(kind) if fields.items() <= r.items()]) >= count else [],
            seconds=seconds,
            what=f"{count} {kind} {fields} in {self.path}: {self.records}",
        )

    def verdicts(self, gpu: str = "0") -> list[tuple[Any, ...]]:
        """What was said of a device."""
        found = [r for r in self.of("returned", "not_returned") if r["gpu"] == gpu]
        return [("returned",) if r["ev"] == "returned" else (r["reason"], r["final"]) for r in found]

    def rank(self, number: int = 0) -> int:
        """Pid of a rank."""
        return self.shim.pid(number)

    def last_end(self) -> int:
        """When the run's last process ended."""
        return max(int(r["m"]) for r in self.shim.of("exit", "orphan_exit"))

    def wait_over(self, seconds: float = 30.0) -> None:
        """Until the monitor has left by itself."""
        self.monitors[-1].wait(seconds)

    def is_monitored(self) -> bool:
        """Whether a monitor holds the lock."""
        return RunDirectory(str(self.path)).is_locked("monitor.lock")

    def holder(self) -> subprocess.Popen[bytes]:
        """A process of nobody's run that holds the device file."""
        code = f"import time; held = open({str(self.device_file)!r}); print(flush=True); time.sleep(300)"
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE)
        self.monitors.append(process)
        assert process.stdout is not None
        with process.stdout:
            process.stdout.readline()
        return process

    def clean(self) -> None:
        """Ends everything of the run."""
        for process in self.monitors:
            process.kill()
            process.wait()
        self.shim.clean()


MONITOR = """
import sys
from grpotui_supervisor.monitor.loop import run
from grpotui_supervisor.rundir import RunDirectory
run(RunDirectory(sys.argv[1]))
"""
