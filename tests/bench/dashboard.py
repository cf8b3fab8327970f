"""The dashboard in a real terminal: first frame, memory, from a write to the screen, keys, CPU; peers beside it.

Everything is read off the terminal: what counts is when the words stand there. `GRPOTUI_BENCH_TOOLONG` names a `tl`,
`GRPOTUI_BENCH_WANDB` an interpreter with wandb and `GRPOTUI_BENCH_GPU_PEERS` one with nvitop.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from support.fake_gpus import FakeGpus, gpu
from support.runs import kill
from support.terminal import Terminal

from bench.following import FLOOD, attached
from bench.logs import DENSE, MEGABYTE, REALISTIC
from bench.measures import TICKS, Row, a_home, cpu_ticks
from bench.peers import WANDB, WRITE, in_terminal
from bench.verl_logs import console, console_line, metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.runs import Home

TOOLONG = os.environ.get("GRPOTUI_BENCH_TOOLONG", "")
GPU_PEERS = os.environ.get("GRPOTUI_BENCH_GPU_PEERS", "")
SIZE = (120, 40)
MEGABYTES, ROUNDS = 200, 5
FIRST_S, NEW_S, KEY_S, DEATH_S, CPU, RSS_MB = 0.5, 0.3, 0.05, 1.0, 10.0, 80.0
SECONDS, HZ, STEPS, KEYS = 12.0, 4, 30, 40
LINES = 50_000


def first_frame() -> list[Row]:
    """From the start of the process to its first line, with the log's name in it, and until all is read."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for what, lines in (("dense", DENSE), ("realistic", REALISTIC)):
            path = console(Path(folder) / f"{what}.log", MEGABYTES * MEGABYTE, lines_a_step=lines).path
            first, whole, peak = zip(*(_opened(path) for _ in range(ROUNDS)), strict=True)
            seconds, memory = statistics.median(first), max(peak)
            name = f"{MEGABYTES} MB log, {what}"
            rows += [
                Row(f"{name}: first frame", f"{seconds:.2f} s", f"< {FIRST_S} s", seconds < FIRST_S),
                Row("… all of it shown", f"{statistics.median(whole):.2f} s{_toolong(path)}", ""),
                Row("… memory, at most", f"{memory:.0f} MB", f"≤ {RSS_MB:g} MB", memory <= RSS_MB),
            ]
            path.unlink()
    return rows


def _opened(path: Path) -> tuple[float, float, float]:
    with _ours("replay", str(path)) as (terminal, began):
        terminal.wait_for(path.name)
        first = terminal.read_at - began
        terminal.wait_until(lambda text: "reading" not in text and "of" in text.splitlines()[1], "all of it", 60)
        whole = terminal.read_at - began
        terminal.wait_for("reward/mean")
        return first, whole, _megabytes(terminal.process.pid, "VmHWM")


def _toolong(path: Path) -> str:
    if not TOOLONG:
        return " (toolong: not installed)"
    began = time.monotonic()
    with Terminal([TOOLONG, str(path)], {}, size=SIZE) as terminal:
        terminal.wait_for("^t Tail", seconds=60)
        return f" (toolong's first frame: {terminal.read_at - began:.2f} s)"


def new_step() -> list[Row]:
    """Steps written 0.3 to 0.7 s apart; each counts as seen when its number stands in the first line."""
    late = []
    with attached() as (directory, log, _), _following(directory.path) as terminal, log.open("ab", 0) as file:
        for step in range(1, STEPS + 1):
            time.sleep(0.3 + 0.4 * (step * 7 % 10) / 10)
            began = time.monotonic()
            file.write(f"step:{step} - actor/loss:0.5 - critic/rewards/mean:0.25\n".encode())
            terminal.wait_until(lambda text, step=step: re.search(rf"step {step}\b", text), f"step {step}")
            late.append(terminal.read_at - began)
    median, worst = statistics.median(late), sorted(late)[int(len(late) * 0.95)]
    measured = f"median {median * 1e3:.0f} ms, p95 {worst * 1e3:.0f} ms"
    return [Row("write of a step → on the screen", measured, f"< {NEW_S * 1e3:.0f} ms", worst < NEW_S)]


def death_on_screen() -> list[Row]:
    """From SIGKILL of a rank to the word on the screen of another process."""
    late = []
    for _ in range(ROUNDS):
        with a_home() as home:
            run = home.launch(home.ranks_profile("sleep", "sleep", grace=5.0))
            with _ours("attach", run, home=home) as (terminal, _):
                terminal.wait_for("● running")
                time.sleep(1)
                began = time.monotonic()
                kill(next(int(r["pid"]) for r in home.records(run) if r["ev"] == "spawned"))
                terminal.wait_for("SIGKILL")
                late.append(terminal.read_at - began)
    measured = f"median {statistics.median(late) * 1e3:.0f} ms, worst {max(late) * 1e3:.0f} ms"
    return [Row("death of a rank → on the screen", measured, f"< {DEATH_S:g} s", max(late) < DEATH_S)]


def key_to_repaint() -> list[Row]:
    """Pages and a zoom, at rest, and while the log that is followed grows by 50,000 lines a second."""
    rows = []
    with attached(_some(200)) as (directory, log, _), _following(directory.path) as terminal:
        terminal.wait_for("reward/mean", "quit")
        rows.append(_keys(terminal, "at rest"))
        command = [sys.executable, "-I", "-S", "-c", FLOOD.replace("1000)", f"{1000 * LINES // 100_000})"), str(log)]
        with subprocess.Popen([*command, str(100 * 30)], stdout=subprocess.DEVNULL) as flood:
            time.sleep(1)
            rows.append(_keys(terminal, f"at {LINES:,} lines/s"))
            flood.kill()
    return rows


PRESSED = "21z\x1b"
"""Another page, the first one, a zoom, and out of it."""


def _keys(terminal: Terminal, when: str) -> Row:
    """Until the first write after the key, once everything has been still for a while."""
    late, spent = [], cpu_ticks([terminal.process.pid])
    for number in range(KEYS):
        key = PRESSED[number % len(PRESSED)]
        time.sleep(0.11 + 0.013 * (number % 7))
        before, began = terminal.text, time.monotonic()
        terminal.press(key)
        terminal.wait_until(lambda text, old=before: _body(text) != _body(old), f"an answer to {key!r}")
        late.append(terminal.read_at - began)
    median, worst = statistics.median(late), sorted(late)[int(len(late) * 0.95)]
    each = (cpu_ticks([terminal.process.pid]) - spent) / TICKS / KEYS * 1e3
    measured = f"median {median * 1e3:.0f} ms, p95 {worst * 1e3:.0f} ms; {each:.0f} ms of CPU from one to the next"
    return Row(f"key → another picture, {when}", measured, f"≤ {KEY_S * 1e3:.0f} ms", median <= KEY_S)


def _body(text: str) -> list[str]:
    """Titles of what is shown: numbers change by themselves."""
    return re.findall(r"[╭├] ([a-z_/]+)", text)


def cpu_and_memory() -> list[Row]:
    """Share of a core at rest and with a step four times a second, each a hundred metrics; and the peers."""
    rows: list[Row] = []
    with attached(_some(500)) as (directory, log, _), _following(directory.path) as terminal:
        terminal.wait_for("reward/mean")
        time.sleep(2)
        still = _share(terminal.process.pid)
        writer = threading.Thread(target=_write_steps, args=(log, int(SECONDS * HZ) + 8))
        writer.start()
        time.sleep(1)
        busy = _share(terminal.process.pid)
        writer.join()
        memory = _megabytes(terminal.process.pid, "VmHWM")
    rows.append(Row("CPU at rest, a run that prints nothing", f"{still:.1f} % of a core", ""))
    rows.append(Row(f"CPU, a step {HZ} times a second", f"{busy:.1f} % of a core", f"≤ {CPU:g} %", busy <= CPU))
    rows.append(Row("memory with a live run", f"{memory:.0f} MB", f"≤ {RSS_MB:g} MB", memory <= RSS_MB))
    return [*rows, _leet(), _nvitop()]


def _leet() -> Row:
    what = "… W&B LEET, at its default rate, at rest"
    if not WANDB:
        return Row(what, "not measured: GRPOTUI_BENCH_WANDB names no interpreter with wandb", "")
    with tempfile.TemporaryDirectory() as folder:
        words = [WANDB, "-c", WRITE, folder, "500", "80"]
        core, run = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-2:]
        command = [core, "leet", "run", "--no-observability", "--run-file", run, f"{folder}/wandb"]
        with in_terminal(command, folder) as (pid, _):
            time.sleep(4)
            return Row(what, f"{_share(pid):.1f} % of a core, {_megabytes(pid, 'VmHWM'):.0f} MB", "")


def _nvitop() -> Row:
    what = "… nvitop, 8 GPUs of the stand-in, at its default rate"
    if not GPU_PEERS:
        return Row(what, "not measured: GRPOTUI_BENCH_GPU_PEERS names no interpreter with nvitop", "")
    with tempfile.TemporaryDirectory() as folder:
        fake = FakeGpus(Path(folder), gpus=[gpu(index, util=97) for index in range(8)])
        with in_terminal([GPU_PEERS, "-m", "nvitop"], folder, fake.env()) as (pid, _):
            time.sleep(4)
            return Row(what, f"{_share(pid):.1f} % of a core, {_megabytes(pid, 'VmHWM'):.0f} MB", "")


def _some(steps: int) -> str:
    rng = random.Random(7)
    return "".join(f"{console_line(step, metrics(rng, step), numpy=False)}\n" for step in range(1, steps + 1))


def _write_steps(log: Path, count: int) -> None:
    rng, began = random.Random(8), time.monotonic()
    with log.open("ab", buffering=0) as file:
        for number in range(count):
            file.write(f"{console_line(1000 + number, metrics(rng, 1000 + number), numpy=False)}\n".encode())
            time.sleep(max(0.0, began + number / HZ - time.monotonic()))


@contextmanager
def _ours(*words: str, home: Home | None = None) -> Iterator[tuple[Terminal, float]]:
    """`grpotui WORDS`, and when it was started."""
    where: dict[str, str | None] = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": None}
    where |= {} if home is None else {"GRPOTUI_HOME": str(home.path)}
    began = time.monotonic()
    with Terminal([sys.executable, "-m", "grpotui", *words], where, size=SIZE) as terminal:
        yield terminal, began


@contextmanager
def _following(path: str) -> Iterator[Terminal]:
    """`grpotui attach` on a run that is followed, drawn."""
    with _ours("attach", path) as (terminal, _):
        terminal.wait_for("quit")
        yield terminal


def _share(pid: int) -> float:
    before, began = cpu_ticks([pid]), time.monotonic()
    time.sleep(SECONDS)
    return (cpu_ticks([pid]) - before) / TICKS / (time.monotonic() - began) * 100


def _megabytes(pid: int, what: str) -> float:
    found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) * 1024 / 1e6 if found else float("nan")
