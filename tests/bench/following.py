"""From the write of a step to its place in the source of a client, and what following costs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.runs import records
from support.waiting import wait_until

from bench.measures import TICKS, Row, a_home, cpu_ticks
from grpotui.watching import Pause
from grpotui_supervisor import attach
from grpotui_supervisor.source.now import update_now
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grpotui_supervisor.rundir import RunDirectory

STEPS = 60
LINES = 100_000
FLOOD_S = 8
FLOOD = """
import os, sys, time
line = b"(TaskRunner pid=4711) INFO 2026-11-29 17:15:00 rollout: sequence done, 512 tokens, reward 0.25, worker 3\\n"
block, file, began = line * 1000, os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND), time.monotonic()
for number in range(int(sys.argv[2])):
    os.write(file, block if number else b"step:1 - actor/loss:0.5\\n" + block)
    time.sleep(max(0.0, began + number / 100 - time.monotonic()))
print(number / (time.monotonic() - began) * 1000)
"""


@contextmanager
def attached(more: str = "") -> Iterator[tuple[RunDirectory, Path, int]]:
    """A run that follows a log, the log, and the pid of its monitor."""
    with a_home() as home:
        log = home.path.parent / "train.log"
        log.write_text(more)
        directory = attach.start([str(log)], pid=None, framework="verl", environment=home.environment)
        timeline = home.directory(directory.run_id) / "timeline.jsonl"
        found = wait_until(lambda: [r for r in records(timeline) if r["ev"] == "monitor"])
        yield directory, log, int(found[-1]["pid"])


def write_to_source() -> list[Row]:
    """Steps written one at a time, 0.3 to 0.7 s apart; a client in this process waits as `attach` does."""
    seen: dict[int, float] = {}
    written: dict[int, float] = {}
    with attached() as (directory, log, _):
        writer = threading.Thread(target=_write_steps, args=(log, written))
        source, pause = Source(directory), Pause(directory, ())
        writer.start()
        deadline = time.monotonic() + STEPS + 20
        while len(seen) < STEPS and time.monotonic() < deadline:
            update_now(source)
            for step in range(len(seen) + 1, source.logs.steps + 1):
                seen[step] = time.monotonic()
            pause.wait()
        writer.join()
    late = sorted((seen[step] - written[step]) * 1e3 for step in seen)
    median, worst = statistics.median(late), late[int(len(late) * 0.95)]
    held = len(seen) == STEPS and worst < 50
    return [Row("write of a step → source", f"median {median:.0f} ms, p95 {worst:.0f} ms", "< 50 ms", held)]


def _write_steps(log: Path, written: dict[int, float]) -> None:
    with log.open("ab", buffering=0) as file:
        for step in range(1, STEPS + 1):
            time.sleep(0.3 + 0.4 * (step * 7 % 10) / 10)
            written[step] = time.monotonic()
            file.write(f"step:{step} - actor/loss:0.5\n".encode())


def following_idle() -> list[Row]:
    """CPU of monitor and client while nothing is written."""
    with attached("step:1 - actor/loss:0.5\n") as (directory, _, monitor), a_client(directory) as client:
        time.sleep(3)
        rows = [("monitor", monitor), ("client", client)]
        before, began = {pid: cpu_ticks([pid]) for _, pid in rows}, time.monotonic()
        time.sleep(30)
        shares = {name: _share(pid, before[pid], began) for name, pid in rows}
    return [Row(f"{name}, idle CPU over 30 s", f"{s:.2f} %", "≤ 0.3 %", s <= 0.3) for name, s in shares.items()]


def following_flood() -> list[Row]:
    """CPU of monitor and client at 100,000 lines a second."""
    with attached() as (directory, log, monitor), a_client(directory) as client:
        time.sleep(1)
        before, began = cpu_ticks([monitor]), time.monotonic()
        client_before = cpu_ticks([client])
        command = [sys.executable, "-I", "-S", "-c", FLOOD, str(log), str(LINES * FLOOD_S // 1000)]
        rate = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        ours, theirs = _share(monitor, before, began), _share(client, client_before, began)
    both = f"monitor {ours:.0f} %, client {theirs:.0f} %, at {rate:,.0f} lines/s"
    return [Row("CPU at 100,000 lines/s", both, "< 60 % of a core, both", ours + theirs < 60)]


def _share(pid: int, before: int, began: float) -> float:
    return (cpu_ticks([pid]) - before) / TICKS / (time.monotonic() - began) * 100


@contextmanager
def a_client(directory: RunDirectory) -> Iterator[int]:
    """`grpotui attach` on the run; its pid."""
    home = os.path.dirname(os.path.dirname(directory.path))
    client = subprocess.Popen(
        [sys.executable, "-m", "grpotui", "attach", directory.run_id], env={**os.environ, "GRPOTUI_HOME": home},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield client.pid
    finally:
        client.kill()
        client.wait()
