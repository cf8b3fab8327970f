"""A run directory with GPUs, made by hand: run.json with an idle baseline, and whatever records a test wants in it."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from pathlib import Path

GIB, MIB = 1 << 30, 1 << 20
SECOND = 1_000_000_000
TOTAL = 140 * GIB
BEGIN = 1000 * SECOND
_T = 1_796_000_000.0


def device(gpu: str = "0", **changes: Any) -> dict[str, Any]:
    """What does not change of a device, as in gpu.jsonl and run.json."""
    index = int(gpu.split(":", maxsplit=1)[0])
    return {
        "gpu": gpu, "index": index, "uuid": f"GPU-{gpu}", "name": "NVIDIA H200", "bus_id": f"00000000:{index:02X}:00.0",
        "total_bytes": TOTAL, "reserved_bytes": 615 * MIB, "kind": "v2", "mig": False, "parent": None, "numa": False,
        "persistence": True, "unavailable": None, "in_run": True,
    } | changes  # fmt: skip


def baseline(gpu: str = "0", used: int | None = 0, **changes: Any) -> dict[str, Any]:
    """The same with what run.json adds."""
    idle: dict[str, Any] = {
        "used_bytes": used,
        "idle": True,
        "idle_evidence": "nobody",
        "processes": [],
        "processes_reason": None,
    }
    return device(gpu, **changes) | idle


def reading(used: int | None = 5 * GIB, **changes: Any) -> dict[str, Any]:
    """One device in a `gpus` record."""
    return {"used": used, "util": 86, "power": 612.4, "temp": 41, "clocks": 0} | changes


def process(pid: int, used: int | None = 5 * GIB, *, owner: str = "run", **changes: Any) -> dict[str, Any]:
    """A process in a list."""
    seen = owner != "unseen"
    return {
        "pid": pid, "start": 77 if seen else None, "name": "python" if seen else None, "user": "ada" if seen else None,
        "type": "compute", "used_bytes": used, "owner": owner, "member": "0" if owner == "run" else None,
    } | changes  # fmt: skip


@dataclass
class GpuRun:
    """The directory; each record is a second after the one before, unless a moment is given."""

    path: Path
    now: int = BEGIN
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def make(cls, path: Path, gpus: list[dict[str, Any]] | None, *, ranks: int = 1, **facts: Any) -> GpuRun:
        """`gpus`: the baseline's devices; None for a run that has none."""
        (path / "control").mkdir(parents=True, mode=0o700)
        path.chmod(0o700)
        for rank in range(ranks):
            (path / "ranks" / str(rank)).mkdir(parents=True)
        idle = {"driver": "580.159.04", "cuda": "13.0", "m": BEGIN - SECOND, "t": _T - 1, "devices": gpus}
        document = {
            "schema": 1, "run": path.name, "directory": str(path), "inode": path.stat().st_ino, "node": "node-0",
            "host": {"hostname": socket.gethostname(), "boot": procfs.boot_id(), "pidns": procfs.pid_namespace()},
            "profile": {"framework": "trl", "launch": {"mode": "ranks", "terminate_seconds": 0.5}},
            "gpus": None if gpus is None else idle,
            "gpu_unavailable": "the driver's library is not there" if gpus is None else None,
            "members": [{"member": str(rank), "rank": rank, "role": "rank"} for rank in range(ranks)],
        }  # fmt: skip
        path.joinpath("run.json").write_text(json.dumps(document | facts))
        return cls(path)

    def write(self, file: str, ev: str, *, m: int | None = None, **fields: Any) -> int:
        """A line of that record file; returns its moment."""
        self.now = self.now + SECOND if m is None else m
        if file not in self.counts:
            self.counts[file] = 0
            host = {"version": "0.1.0", "node": "node-0", "boot": procfs.boot_id(), "pidns": procfs.pid_namespace()}
            self._line(file, "header", schema=1, writer="shim" if file == "ranks" else "monitor", **host)
        self._line(file, ev, **fields)
        return self.now

    def gpu(self, ev: str, *, m: int | None = None, **fields: Any) -> int:
        """A line of gpu.jsonl."""
        return self.write("gpu", ev, m=m, **fields)

    def _line(self, file: str, ev: str, **fields: Any) -> None:
        self.counts[file] += 1
        record = {"ev": ev, "t": _T + self.now / SECOND, "m": self.now, "seq": self.counts[file], **fields}
        with (self.path / f"{file}.jsonl").open("a") as opened:
            opened.write(json.dumps(record) + "\n")

    def start(self, ranks: int = 1, pid: int = 4711) -> None:
        """The ranks are spawned; rank 0 has that pid, the next the one after."""
        for rank in range(ranks):
            place: dict[str, Any] = {"member": str(rank), "rank": rank, "role": "rank"}
            self.write("ranks", "spawned", **place, pid=pid + rank, start=77 + rank, owned=True)
        self.write("ranks", "spawn_done", not_started=[])

    def exit(self, rank: int = 0, pid: int = 4711, **changes: Any) -> None:
        """A rank exits 0."""
        how: dict[str, Any] = {
            "how": "exited",
            "code": 0,
            "signal": None,
            "signo": None,
            "core": False,
            "sent": [],
        } | changes
        place: dict[str, Any] = {
            "member": str(rank),
            "rank": rank,
            "role": "rank",
            "pid": pid + rank,
            "start": 77 + rank,
        }
        self.write("ranks", "exit", **place, **how)

    def adopt(self, pid: int = 4720, start: int = 78, name: str = "VLLM::EngineCore") -> None:
        """A process lost its parent and lives on."""
        self.write("ranks", "adopted", pid=pid, start=start, name=name, marked=True, member="0")

    def end(self, ranks: int = 1) -> None:
        """Every rank exits, and nothing is left."""
        for rank in range(ranks):
            self.exit(rank)
        self.write("ranks", "ranks_done", leftovers=[])
        self.write("ranks", "done")

    def monitor(self, *gpus: str) -> None:
        """A monitor begins: NVML, the devices, and a first reading."""
        self.gpu("nvml", available=True, reason=None, driver="580.159.04", cuda="13.0")
        for gpu in gpus:
            self.gpu("device", **device(gpu))
        self.read(**dict.fromkeys(gpus, 0))

    def read(self, **used: int | None) -> int:
        """A reading of the devices, by key (`_0=5`), all else the same."""
        return self.gpu("gpus", read={key.lstrip("_"): reading(value) for key, value in used.items()})

    def returned(self, gpu: str = "0", seconds: float = 0.4, used: int = 0) -> int:
        """The monitor says that a device is back."""
        level: dict[str, Any] = {"used_bytes": used, "baseline_bytes": 0, "tolerance_bytes": 144 * MIB}
        return self.gpu("returned", gpu=gpu, seconds=seconds, **level)

    def not_returned(self, gpu: str = "0", reason: str = "held_invisible", *, final: bool = False, **more: Any) -> int:
        """The monitor says that it is not."""
        fields: dict[str, Any] = {"evidence": "305 MiB used, nobody listed", "seconds": 10.0, "used_bytes": 305 * MIB,
                  "baseline_bytes": 0, "holders": []} | more  # fmt: skip
        return self.gpu("not_returned", gpu=gpu, reason=reason, final=final, **fields)

    @property
    def directory(self) -> RunDirectory:
        return RunDirectory(str(self.path))

    def source(self, until: int | None = None) -> Source:
        """As of that moment."""
        found = Source(self.directory)
        found.update(until)
        return found

    def status(self, until: int | None = None) -> dict[str, Any]:
        """The status document as of that moment, as a replay shows it."""
        return status(self.source(until))


def in_use(path: Path, **facts: Any) -> GpuRun:
    """Two ranks on two of three devices, with readings and lists; the third has somebody else's process."""
    run = GpuRun.make(path, [baseline("0"), baseline("1"), baseline("2", in_run=False)], ranks=2, **facts)
    run.start(ranks=2)
    run.monitor("0", "1")
    run.gpu("device", **device("2", in_run=False))
    run.gpu("processes", gpu="0", reason=None, list=[process(4711, 5 * GIB)])
    run.gpu("processes", gpu="1", reason=None, list=[process(4712, 4 * GIB, member="1", start=78)])
    run.gpu("processes", gpu="2", reason=None, list=[process(99, 20 * GIB, owner="other", user="bob")])
    run.read(_0=5 * GIB + 300 * MIB, _1=4 * GIB, _2=20 * GIB)
    return run


def hostile(run: GpuRun, text: str) -> None:
    """That text wherever /proc and the driver can put one."""
    run.gpu("device", **device("0", name=text))
    run.gpu("device", **device("3", name=text, unavailable=text))
    found = [process(5000 + at, owner=owner, name=text, user=text, member=text if owner == "run" else None)
             for at, owner in enumerate(("run", "probably", "before", "other"))]  # fmt: skip
    run.gpu("processes", gpu="0", reason=None, list=found)
    run.gpu("processes", gpu="1", reason=text, list=[])
    run.gpu("processes", gpu="2", reason=None, list=found)
    run.gpu("absent", gpu="1", field="power", reason=text)
    run.gpu("lost", gpu="1", reason=text)
    run.gpu("xid", gpu="0", xid=79, name=text, severity="gpu")
    run.not_returned("0", evidence=text)


def locked(run: GpuRun, name: str = "shim.lock") -> int:
    """Takes a lock as the writer of the records would; returns the descriptor that holds it."""
    import fcntl  # noqa: PLC0415  (only who wants a live run)

    fd = os.open(run.path / name, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd
