"""One function a measurement; each returns rows of the table."""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.runs import Home, ShimRun, rank_argv, records
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "work.py")
TICKS = os.sysconf("SC_CLK_TCK")
SUPERVISED = "CPU time of a CPU-bound rank, supervised / bare"
SLOWED = 0.005
"""By which share a supervised rank may be slower."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    measured: str
    goal: str
    held: bool | None = None


@contextmanager
def a_shim() -> Iterator[ShimRun]:
    with tempfile.TemporaryDirectory() as folder:
        run = ShimRun(Path(folder) / "run", run=f"bench-{os.getpid()}-{time.monotonic_ns()}")
        try:
            yield run
        finally:
            run.clean()


@contextmanager
def a_home() -> Iterator[Home]:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        try:
            yield home
        finally:
            home.clean()


def pss_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)
    return int(found[1]) / 1024 if found else float("nan")


def cpu_ticks(pids: list[int]) -> int:
    return sum(found.cpu_ticks for pid in pids if (found := procfs.stat(pid)) is not None)


def shim_at_rest() -> list[Row]:
    """Memory of guard and worker with eight ranks, and their CPU while nothing happens."""
    with a_shim() as run:
        run.start([rank_argv("sleep")] * 8)
        run.wait_for("spawn_done")
        pids = run.shim_pids()
        wait_until(lambda: all(os.path.getsize(run.path / f"ranks/{r}/stdout.log") for r in range(8)))
        memory = sum(pss_mib(pid) for pid in pids)
        before, began = cpu_ticks(pids), time.monotonic()
        time.sleep(20)
        share = (cpu_ticks(pids) - before) / TICKS / (time.monotonic() - began) * 100
    return [
        Row("shim memory, guard + worker (PSS)", f"{memory:.1f} MiB", "≤ 14 MiB", memory <= 14),
        Row("shim idle CPU, both, over 20 s", f"{share:.2f} %", "0.0 %", share < 0.05),
    ]


def spawn_64() -> list[Row]:
    """First spawn to last, for 64 ranks; the peer starts the same with subprocess."""
    shim_s, peer_s = [], []
    for _ in range(5):
        with a_shim() as run:
            run.start([["/bin/sleep", "600"]] * 64)
            run.wait_for("spawn_done")
            times = [r["m"] for r in run.of("spawning", "spawn_done")]
            shim_s.append((times[-1] - times[0]) / 1e9)
        began = time.monotonic()
        peers = [subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) for _ in range(64)]
        peer_s.append(time.monotonic() - began)
        for peer in peers:
            peer.kill()
            peer.wait()
    ours, theirs = statistics.median(shim_s) * 1e3, statistics.median(peer_s) * 1e3
    return [Row("spawn of 64 ranks, recorded", f"{ours:.0f} ms", f"(subprocess.Popen, unrecorded: {theirs:.0f} ms)")]


def death_to_record() -> list[Row]:
    """From a rank's last instruction to the line in ranks.jsonl: 64 isolated deaths, and 64 at once."""
    rows = []
    for name, gap in (("64 deaths, one each 30 ms", 0.03), ("64 deaths at one instant", 0.0)):
        with a_shim() as run:
            until = time.monotonic() + 6
            run.start([[sys.executable, "-I", "-S", WORK, "die-at", repr(until + rank * gap)] for rank in range(64)])
            run.wait_done(60)
            ends = {r["rank"]: r["m"] for r in run.of("exit")}
            died = {rank: int((run.path / f"ranks/{rank}/stdout.log").read_text()) for rank in ends}
        late = sorted((ends[rank] - died[rank]) / 1e6 for rank in ends)
        median, worst = statistics.median(late), late[int(len(late) * 0.95)]
        single = gap > 0
        rows.append(
            Row(f"death → record, {name}", f"median {median:.2f} ms, p95 {worst:.2f} ms",
                "median < 2 ms" if single else "-", median < 2 if single else None)
        )  # fmt: skip
    return rows


def launch_to_first_rank() -> list[Row]:
    """From the start of the `grpotui launch` process to the first line of rank 0."""
    seconds = []
    with a_home() as home:
        argv = json.dumps(["{grpotui_python}", "-I", "-S", WORK, "say-when"])
        profile = home.profile(f'name = "b"\n[launch]\nmode = "ranks"\nnproc = 2\nargv = {argv}\n')
        for _ in range(9):
            began = time.monotonic_ns()
            run = home.launch(profile)
            log = home.directory(run) / "ranks/0/stdout.log"
            seconds.append((int(_written(log)) - began) / 1e9)
    median = statistics.median(seconds)
    return [Row("launch → rank 0 runs", f"{median:.2f} s (median of 9)", "< 0.5 s", median < 0.5)]


def command_cpu() -> list[Row]:
    """CPU of `--version` and `--help`, interpreter included; the peer is the bare interpreter."""
    rows, bare = [], _cpu_ms([sys.executable, "-c", "pass"])
    for flag in ("--version", "--help"):
        spent = _cpu_ms([sys.executable, "-m", "grpotui", flag])
        goal = f"< 60 ms (bare interpreter: {bare:.0f} ms)"
        rows.append(Row(f"grpotui {flag}, CPU", f"{spent:.0f} ms (median of 15)", goal, spent < 60))
    return rows


def _cpu_ms(command: list[str]) -> float:
    spent = []
    for _ in range(15):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)
    return statistics.median(spent)


def slow_down() -> list[Row]:
    """A CPU-bound rank, bare and under supervision in turn; and what the supervisors themselves use meanwhile."""
    bare_s, supervised_s, shares = [], [], []
    with a_home() as home:
        words = ["-I", "-S", WORK, "work"]
        argv = json.dumps(["{grpotui_python}", *words])
        profile = home.profile(f'name = "b"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = {argv}\n')
        for _ in range(7):
            done = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
            bare_s.append(float(done.stdout))
            run = home.launch(profile)
            pids = _supervisors(home, run)
            before, began = cpu_ticks(pids), time.monotonic()
            log = home.directory(run) / "ranks/0/stdout.log"
            worked = float(_written(log))
            shares.append((cpu_ticks(pids) - before) / TICKS / (time.monotonic() - began) * 100)
            supervised_s.append(worked)
            home.wait_for_state(run, "ended")
    ratio = statistics.median(s / b for s, b in zip(supervised_s, bare_s, strict=True))
    return [
        slowed(ratio - 1, spread=max(bare_s) / min(bare_s) - 1),
        Row("CPU of shim and monitor beside it", f"{statistics.median(shares):.2f} % of a core", "< 0.5 %",
            statistics.median(shares) < 0.5),
    ]  # fmt: skip


def slowed(share: float, *, spread: float) -> Row:
    """By how much a rank is slower under supervision, where the bare runs are alike enough to tell."""
    goal = f"< {SLOWED * 100:g} %"
    measured = f"{share * 100:+.2f} % (median of 7 pairs)"
    if spread > SLOWED:
        return Row(SUPERVISED, f"{measured}; not measurable here (bare runs differ by {spread * 100:.1f} %)", goal)
    return Row(SUPERVISED, measured, goal, share < SLOWED)


def _written(log: Path) -> str:
    """What a rank printed, once it has."""
    return wait_until(lambda: log.exists() and log.read_text().strip(), seconds=120)


def _supervisors(home: Home, run: str) -> list[int]:
    monitor = wait_until(lambda: [r for r in records(home.directory(run) / "timeline.jsonl") if r["ev"] == "monitor"])
    (shim,) = [r for r in home.records(run) if r["ev"] == "shim"]
    return [monitor[-1]["pid"], shim["guard"], shim["worker"]]
