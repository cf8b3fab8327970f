"""Other programs that show a run in a terminal, each with the same numbers or the same log: W&B LEET and lnav.

What is compared is CPU time from the start of the process to a complete view: of ours, `grpotui replay --json`, which
has read every metric when it answers; of LEET, the moment of the last change of its screen (160 x 48) before it rests;
of lnav, without a screen and without output, that every line is read, given its time and indexed. LEET draws, which
takes a share of its time, and lnav reads no metrics. Beside it stands our time without Python's start.

`GRPOTUI_BENCH_WANDB` names an interpreter that has the `wandb` package.
"""

from __future__ import annotations

import fcntl
import os
import pty
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.logs import MEGABYTE, REALISTIC, cpu, every_value
from bench.measures import TICKS, Row
from bench.verl_logs import console
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROUNDS = 3
STEPS, KEYS = 10_000, 80
OUR_MEGABYTES = 43
"""A dense log of about as many numbers."""

WANDB = os.environ.get("GRPOTUI_BENCH_WANDB", "")
WRITE = """
import glob, os, random, sys
os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_ERROR_REPORTING="false")
import wandb
from wandb.util import get_core_path
folder, steps, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(7)
settings = wandb.Settings(x_disable_stats=True, x_disable_meta=True, console="off")
run = wandb.init(project="bench", dir=folder, settings=settings)
for _ in range(steps):
    run.log({f"train/metric_{key}": rng.random() for key in range(keys)})
run.finish()
print(get_core_path(), *glob.glob(f"{folder}/wandb/offline-run-*/run-*.wandb"), sep="\\n")
"""
QUERIES = ((b"\x1b[c", b"\x1b[?62;c"), (b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"))
"""What a program asks its terminal, and what ours answers."""


def replay(path: Path) -> float:
    """CPU seconds of `grpotui replay --json`, interpreter included."""
    return _children([sys.executable, "-m", "grpotui", "replay", "--json", str(path)])


def _children(command: list[str]) -> float:
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=where, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(work: Callable[[], float]) -> float:
    return statistics.median(work() for _ in range(ROUNDS))


def times(what: str, theirs: float, path: Path, goal: float) -> list[Row]:
    """How many times the whole command, and the reading alone, would fit into the peer's time."""
    whole, reading = median(partial(replay, path)), median(partial(cpu, every_value, path))
    ratio = theirs / whole
    return [
        Row(what, f"{theirs * 1e3:.0f} ms against {whole * 1e3:.0f} ms: {ratio:.1f}", f"≥ {goal:g}", ratio >= goal),
        Row("… without Python's start and the answer", f"{reading * 1e3:.0f} ms: {theirs / reading:.1f}", ""),
    ]


def lnav() -> list[Row]:
    """A log of 200 MB as a run writes it."""
    what = "complete view of a realistic log, 200 MB, as fast as lnav, times"
    if not shutil.which("lnav"):
        return [Row(what, "not measured: lnav is not installed", "≥ 5")]
    with tempfile.TemporaryDirectory() as folder:
        path = console(Path(folder) / "train.log", 200 * MEGABYTE, lines_a_step=REALISTIC).path
        theirs = median(partial(_children, ["lnav", "-n", "-q", str(path)]))
        return times(what, theirs, path, 5)


def leet() -> list[Row]:
    """As many numbers in each one's own format."""
    what = f"complete view of {STEPS * KEYS} numbers, as fast as wandb leet, times"
    if not WANDB:
        return [Row(what, "not measured: GRPOTUI_BENCH_WANDB names no interpreter with wandb", "≥ 30")]
    with tempfile.TemporaryDirectory() as folder:
        words = [WANDB, "-c", WRITE, folder, str(STEPS), str(KEYS)]
        core, run = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-2:]
        command = [core, "leet", "run", "--no-observability", "--run-file", run, f"{folder}/wandb"]
        theirs = median(partial(until_at_rest, command, folder))
        written = console(Path(folder) / "train.log", OUR_MEGABYTES * MEGABYTE, lines_a_step=8)
        return times(what, theirs * written.count / (STEPS * KEYS), written.path, 30)


def until_at_rest(command: list[str], home: str, *, quiet: float = 2.0, limit: float = 120.0) -> float:
    """CPU seconds of a terminal program until the last change of its screen that another follows no more."""
    with in_terminal(command, home) as (_, changes):
        began = time.monotonic()
        while time.monotonic() - changes[-1][0] < quiet and time.monotonic() - began < limit:
            time.sleep(0.05)
        return changes[-1][1]


@contextmanager
def in_terminal(
    command: list[str], home: str, more: Mapping[str, str] | None = None
) -> Iterator[tuple[int, list[tuple[float, float]]]]:
    """A program in a terminal that answers; its pid, and its CPU seconds at each change of the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", HOME=home, XDG_CONFIG_HOME=home, **(more or {}))
        os.execv(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
    changes = [(time.monotonic(), 0.0)]
    threading.Thread(target=_attend, args=(terminal, pid, changes), daemon=True).start()
    try:
        yield pid, changes
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def _attend(terminal: int, pid: int, changes: list[tuple[float, float]]) -> None:
    """Reads what is drawn, answers what is asked, and notes the CPU time after each."""
    with suppress(OSError):
        while drawn := os.read(terminal, 1 << 16):
            found = procfs.stat(pid)
            if found is not None:
                changes.append((time.monotonic(), found.cpu_ticks / TICKS))
            for query, answer in QUERIES:
                if query in drawn:
                    os.write(terminal, answer)
