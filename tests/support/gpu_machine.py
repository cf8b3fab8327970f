"""A machine with pretended GPUs for the real command line: devices, and processes that hold them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.fake_gpus import FakeGpus, gpu
from support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

_HOLD = "import sys,time\nfile = open(sys.argv[1], 'w')\nprint('open', flush=True)\ntime.sleep(3600)\n"


@dataclass
class GpuMachine:
    """Devices, the variables that show them to a command, and the processes on them."""

    folder: Path
    count: int = 2
    variant: str = "modern"
    fake: FakeGpus = field(init=False)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fake = FakeGpus(self.folder / "nvml", self.variant, [gpu(index) for index in range(self.count)])
        (self.folder / "dev").mkdir(exist_ok=True)

    @property
    def env(self) -> dict[str, str]:
        return {**self.fake.env(), "GRPOTUI_GPU_FILES": self.device_file}

    @property
    def device_file(self) -> str:
        return f"{self.folder}/dev/nvidia"

    def hold(self, index: int, size: str, kind: str = "C", *, program: str = sys.executable) -> int:
        """Starts a process that holds so much of a device; its pid. `program`: a Python by another name."""
        process = subprocess.Popen(
            [program, "-I", "-S", "-c", _HOLD, f"{self.device_file}{index}"], stdout=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        assert process.stdout is not None
        wait_until(lambda: process.stdout and process.stdout.readline(), what="the holder")
        self.fake.claim(index, process.pid, size, kind)
        return process.pid

    def end(self, pid: int) -> None:
        """Ends a holder."""
        for process in self.processes:
            if process.pid == pid and process.poll() is None:
                process.kill()
                process.communicate()

    def change(self, index: int, **fields: Any) -> None:
        """Changes the state of one device, as `gpu()` takes it."""
        gpus = [dict(one) for one in self.fake.gpus]
        gpus[index].update({name.replace("__", "."): value for name, value in fields.items()})
        self.fake.write(gpus)

    def clean(self) -> None:
        for process in self.processes:
            self.end(process.pid)
