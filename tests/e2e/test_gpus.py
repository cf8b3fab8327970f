"""Runs on devices of the stand-in, to their end: memory that returns late or never, and who is said to hold it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from support.fake_gpus import FakeGpus, gpu
from support.gpu_runs import BASE, GIB, MIB, GpuRun, baseline, listed
from support.runs import kill, rank_argv
from support.schemas import check_lines
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEVER_MS = 3_600_000


@dataclass
class Scenes:
    """All runs at once: most of their time is the 10 s after which a device that is not back is reported."""

    folder: Path
    runs: dict[str, GpuRun] = field(default_factory=dict)

    def run(self, name: str, devices: int = 1, **top: Any) -> GpuRun:
        gpus = FakeGpus(self.folder / name / "nvml", gpus=[gpu(i) for i in range(devices)])
        gpus.write(gpus.gpus, **top)
        self.runs[name] = GpuRun(self.folder / name / f"gpu-{name}-{id(self):x}", gpus)
        return self.runs[name]

    def one_rank(self, name: str, size: str = "5GiB", kind: str = "C", **top: Any) -> GpuRun:
        """A rank that holds so much of a device."""
        found = self.run(name, **top).start([rank_argv("sleep")], [baseline(0)])
        found.gpus.claim(0, found.rank(), size, kind)
        return found


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenes]:
    found = Scenes(tmp_path_factory.mktemp("gpus"))
    try:
        fill(found)
        yield found
    finally:
        for run in found.runs.values():
            run.clean()


def fill(scenes: Scenes) -> None:
    """Starts everything, then ends every rank."""
    two = scenes.run("late", 2, linger_ms=1500).start([rank_argv("sleep")] * 2, [baseline(0), baseline(1)])
    for rank in (0, 1):
        two.gpus.claim(rank, two.rank(rank), "5GiB")
    scenes.one_rank("never", linger_ms=NEVER_MS)
    scenes.one_rank("hidden", linger_ms=NEVER_MS, pid_mode="hidden")
    scenes.one_rank("foreign", pid_offset=1_000_000)
    unnamed = scenes.one_rank("unnamed", "NA")
    unnamed.gpus.write([gpu(0, proc_mem_na=1)])
    lost = scenes.run("lost", 2).start([rank_argv("sleep")], [baseline(0), baseline(1)])
    other = scenes.one_rank("other")
    neighbour(scenes)
    orphan = scenes.run("orphan", linger_ms=500)
    orphan.start([rank_argv("orphan")], [baseline(0)], limits={"leftover_grace": 8, "terminate": 10})
    for run in scenes.runs.values():
        run.wait_for("processes")
    lost.gpus.write([gpu(0, ret=15), gpu(1)])
    other.gpus.claim(0, other.holder().pid, "3GiB")
    lost.wait_for("lost")
    for name, run in scenes.runs.items():
        if name != "orphan":
            for rank in range(len(run.shim.of("spawned"))):
                kill(run.rank(rank))


def neighbour(scenes: Scenes) -> None:
    """An MPS server that was there before the run, with a client of the run."""
    run = scenes.run("mps")
    server = run.holder().pid
    run.gpus.claim(0, server, "880MiB")
    device = baseline(0, used_bytes=BASE + 880 * MIB, processes=[listed(server, 880 * MIB)])
    run.start([rank_argv("sleep")], [device])
    run.gpus.claim(0, run.rank(), "5GiB", "M")


def test_the_orphan_that_allocates_late(scenes: Scenes) -> None:
    """First, since it takes its memory 2 s after its rank has ended, when device and list are as before the run."""
    run = scenes.runs["orphan"]
    orphan = run.shim.wait_for("adopted")[-1]["pid"]
    ended = run.shim.exit_of(0)["m"]
    wait_until(lambda: time.monotonic_ns() - ended > 2e9)
    assert run.verdicts() == []
    run.gpus.claim(0, orphan, "2.8GiB")
    named = run.wait_for("processes", count=2)[-1]["list"]
    assert [(p["pid"], p["owner"], p["used_bytes"]) for p in named] == [(orphan, "run", int(2.8 * GIB))]
    (returned,) = run.wait_for("returned")
    end = run.last_end()
    assert end - ended > 7.5e9
    assert returned["m"] > end
    assert 0.4 <= returned["seconds"] < 3
    run.wait_over()


def test_memory_that_returns_late(scenes: Scenes) -> None:
    run = scenes.runs["late"]
    for key in ("0", "1"):
        (returned,) = run.wait_for("returned", gpu=key)
        assert 1.4 <= returned["seconds"] < 5
        assert (returned["used_bytes"], returned["baseline_bytes"]) == (BASE, BASE)
        assert returned["m"] - run.last_end() >= returned["seconds"] * 1e9
    run.wait_over()
    first = run.wait_for("processes", gpu="0")[0]["list"][0]
    assert (first["owner"], first["member"], first["used_bytes"]) == ("run", "0", 5 * GIB)
    assert run.of("nvml")[0]["driver"] == "580.95.05"
    assert [r["in_run"] for r in run.of("device")] == [True, True]
    after = [r["read"]["0"]["used"] for r in run.of("gpus") if "0" in r["read"]]
    assert after[-1] == BASE
    assert 5 * GIB + BASE in after


def test_memory_that_never_returns(scenes: Scenes) -> None:
    run = scenes.runs["never"]
    (said,) = run.wait_for("not_returned")
    assert (said["reason"], said["final"], said["used_bytes"]) == ("held_invisible", False, 5 * GIB + BASE)
    assert 10 <= said["seconds"] < 12
    assert "5.0 GiB in use, 4.0 MiB before the run" in said["evidence"]
    assert run.is_monitored()
    run.gpus.write([gpu(0)], linger_ms=0)
    run.wait_for("returned")
    run.wait_over()
    assert run.verdicts() == [("held_invisible", False), ("returned",)]


def test_a_list_that_is_hidden_is_never_nobody(scenes: Scenes) -> None:
    run = scenes.runs["hidden"]
    assert [r["list"] for r in run.of("processes")] == [[]]
    (said,) = run.wait_for("not_returned")
    assert said["reason"] == "held_invisible"
    assert "not visible here" in said["evidence"]


def test_foreign_pids_and_unknown_bytes(scenes: Scenes) -> None:
    foreign = scenes.runs["foreign"]
    (process,) = foreign.wait_for("processes")[0]["list"]
    assert (process["pid"] > 1_000_000, process["owner"], process["start"], process["name"]) == (
        True, "unseen", None, None
    )  # fmt: skip
    (process,) = scenes.runs["unnamed"].wait_for("processes")[-2]["list"]
    assert (process["owner"], process["used_bytes"]) == ("run", None)
    for run in (foreign, scenes.runs["unnamed"]):
        run.wait_for("returned")
        run.wait_over()


def test_a_device_that_is_lost_in_mid_run(scenes: Scenes) -> None:
    run = scenes.runs["lost"]
    assert "lost" in run.of("lost")[0]["reason"].lower()
    run.wait_for("returned", gpu="1")
    (said,) = run.wait_for("not_returned", gpu="0")
    assert (said["reason"], said["final"], said["used_bytes"]) == ("lost", True, None)
    run.wait_over()


def test_held_by_another(scenes: Scenes) -> None:
    run = scenes.runs["other"]
    (said,) = run.wait_for("not_returned")
    other = run.monitors[-1].pid
    assert said["reason"] == "held_by_other"
    assert [(h["pid"], h["owner"], h["used_bytes"]) for h in said["holders"]] == [(other, "other", 3 * GIB)]
    assert f"(pid {other}" in said["evidence"]
    assert "3.0 GiB" in said["evidence"]
    assert procfs.is_running(other)


def test_an_mps_server_was_there_before(scenes: Scenes) -> None:
    run = scenes.runs["mps"]
    run.wait_for("returned")
    processes = [p for r in run.of("processes") for p in r["list"]]
    assert {(p["type"], p["owner"]) for p in processes} == {("compute", "before"), ("mps", "run")}


def test_every_line_is_what_the_schema_says(scenes: Scenes) -> None:
    for run in scenes.runs.values():
        check_lines("gpu", (run.path / "gpu.jsonl").read_bytes().splitlines())
        errors = (run.path / "monitor.err").read_text()
        assert not errors, errors
