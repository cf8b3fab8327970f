"""A machine's GPUs without a GPU: a stand-in for libnvidia-ml.so.1, compiled from C, that the real binding loads."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parent.parent / "fakes" / "fake_nvml.c"
VARIANTS = {
    "modern": (),
    "r470": ("-DNO_MEM_V2", "-DNO_PROC_V3"),
    "r440": ("-DNO_MEM_V2", "-DNO_PROC_V2"),
    "r535_54": ("-DPROC_V3_32",),
    "r535_unknown": ("-DPROC_V3_32", "-DNO_CONF"),
}
"""Drivers that lack functions, or write lists in a layout of their own: as known of 535.54, or not told by anything."""
LIBRARY = "libnvidia-ml.so"
FILE = f"{LIBRARY}.580.95.05"
"""As drivers name it; programs load `LIBRARY`.1, which points to it."""
MIB = 1 << 20
H100: dict[str, Any] = {
    "name": "NVIDIA H100 80GB HBM3",
    "mem.total": 85520809984,
    "mem.reserved": "628MiB",
    "mem.base": "4MiB",
    "util": 0,
    "mem_util": 0,
    "temp": 33,
    "power_mw": 69000,
    "persistence": 1,
    "clock_reasons": "0x1",
    "mig": 0,
    "ecc": 1,
    "remapped": "0 0 0 0",
    "events": "0x8",
}


@functools.cache
def library(variant: str = "modern") -> str:
    """The folder of a compiled stand-in, to be put on LD_LIBRARY_PATH; skips the test where there is no compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler: the stand-in for NVML cannot be built")
    folder = tempfile.mkdtemp(prefix=f"nvml-{variant}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    words = ["-O1", "-shared", "-fPIC", "-pthread", "-w", f"-Wl,-soname,{LIBRARY}.1", *VARIANTS[variant]]
    subprocess.run([compiler, *words, "-o", f"{folder}/{FILE}", str(SOURCE)], check=True)
    os.symlink(FILE, f"{folder}/{LIBRARY}.1")
    return folder


def gpu(index: int, **changes: Any) -> dict[str, Any]:
    """The state of one device; `mem__base` stands for `mem.base`, and None takes a field away."""
    found = dict(H100, uuid=f"GPU-00000000-0000-0000-0000-{index:012d}", bus_id=f"00000000:{0x18 + index:02X}:00.0")
    found.update({name.replace("__", "."): value for name, value in changes.items()})
    return found


def instance(index: int, place: int, **changes: Any) -> dict[str, Any]:
    """The state of a MIG instance, for `gpu(…, mig=1, mig_max=7, instances={place: instance(index, place)})`."""
    found: dict[str, Any] = {
        "uuid": f"MIG-00000000-0000-0000-0000-{index:06d}{place:06d}",
        "name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "mem.total": "9856MiB",
        "mem.reserved": 0,
        "mem.base": "12MiB",
    }
    found.update({name.replace("__", "."): value for name, value in changes.items()})
    return found


def slot(index: int, place: int) -> int:
    """What `FakeGpus.claim` calls a MIG instance."""
    return 100 + 10 * index + place


@dataclass
class FakeGpus:
    """The state that the stand-in reads anew whenever it has changed."""

    folder: Path
    variant: str = "modern"
    gpus: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "claims").mkdir(parents=True, exist_ok=True)
        self.write(self.gpus)

    def write(self, gpus: list[dict[str, Any]], **top: Any) -> None:
        """Replaces the state at once; keys of `top` such as `linger_ms` or `ret__init` are for all devices."""
        self.gpus = gpus
        lines = [f"count = {len(gpus)}"] + [f"{name.replace('__', '.')} = {value}" for name, value in top.items()]
        lines += [f"gpu.{i}.{k} = {v}" for i, one in _all(gpus) for k, v in one.items() if v is not None]
        scratch = self.folder / "state.new"
        scratch.write_text("\n".join(lines) + "\n")
        scratch.replace(self.folder / "state")

    def claim(self, index: int, pid: int, size: str, kind: str = "C") -> None:
        """A living process on a device; when it ends it leaves the list, and its bytes go `linger_ms` later."""
        (self.folder / "claims" / f"{index}.{pid}.{kind}").write_text(size)

    def env(self) -> dict[str, str]:
        """What a process needs to see these devices."""
        return {
            "LD_LIBRARY_PATH": library(self.variant),
            "FAKE_NVML_STATE": str(self.folder / "state"),
            "FAKE_NVML_CLAIMS": str(self.folder / "claims"),
        }


def _all(gpus: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, one in enumerate(gpus):
        yield index, {key: value for key, value in one.items() if key != "instances"}
        for place, other in one.get("instances", {}).items():
            yield slot(index, place), other
