"""Speed and memory of the reader of verl's logs; the peers are ripgrep, a plain Python parser and `json.loads`.

`python -m tests.bench.logs [MEGABYTES]` prints the table: CPU time, page cache warm, best of several rounds in which
each peer takes its turn, since what else the machine does changes from one minute to the next.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if __name__ == "__main__":
    HERE = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "..", "supervisor"), os.path.join(HERE, "..", "..")]

from bench.measures import Row
from bench.verl_logs import Written, console, file_logger
from grpotui_supervisor.logs.verl import VerlReader
from grpotui_supervisor.source.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grpotui_supervisor.logs.columns import Columns

T = TypeVar("T")
BLOCK = 1 << 20
MEGABYTE = 1_000_000
ROUNDS = 7
DENSE, REALISTIC = 8, 600
"""Lines from one record to the next."""

LINE = r"step:[0-9]+ - .*"
"""Whole records: ripgrep need not look at the metrics."""

METRIC = r"(?:step:[0-9]+ - |- )[\w/@.-]+:[^ ]+"
"""Each metric by itself, which is what a parser must find."""

READING = """
import os, re, sys
from grpotui_supervisor.logs.verl import VerlReader

def kilobytes(name):
    with open("/proc/self/status") as status:
        return int(re.search(name + r":\\s+(\\d+)", status.read())[1])

reader, file, before = VerlReader(), os.open(sys.argv[1], os.O_RDONLY), kilobytes("VmRSS")
while block := os.read(file, 1 << 20):
    reader.feed(block)
values = sum(len(series.values) for series in reader.columns.series.values())
del block
print(values, kilobytes("VmRSS") - before, kilobytes("VmHWM"))
"""


def read(path: Path, size: int = BLOCK) -> Columns:
    """All metrics of a log, in their series."""
    reader = VerlReader()
    file = os.open(path, os.O_RDONLY)
    while block := os.read(file, size):
        reader.feed(block)
    os.close(file)
    return reader.columns


def everything(path: Path) -> int:
    """As the source reads it: one line in twelve is an engine's."""
    metrics = Metrics(VerlReader())
    file = os.open(path, os.O_RDONLY)
    while block := os.read(file, BLOCK):
        metrics.feed(block)
    os.close(file)
    return metrics.steps


def every_value(path: Path) -> int:
    return sum(len(series.values) for series in read(path).series.values())


def exact(columns: Columns, written: Written) -> bool:
    """Whether every number is there, bit for bit."""
    found = {key: series.values.tobytes() for key, series in columns.series.items()}
    return columns.steps == written.steps and found == {key: v.tobytes() for key, v in written.values.items()}


def plain(path: Path) -> int:
    """What one writes in an afternoon: a regular expression, two splits and `float`."""
    record = re.compile(r"step:(\d+) - (.*)")
    rows: list[tuple[int, dict[str, float]]] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if found := record.search(line):
                row = {}
                for field in found[2].rstrip().split(" - "):
                    key, _, text = field.rpartition(":")
                    row[key] = float(text[text.index("(") + 1 : -1] if text.startswith("np.") else text)
                rows.append((int(found[1]), row))
    return len(rows)


def loads(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if json.loads(line))


def cpu(work: Callable[[T], object], on: T) -> float:
    began = time.process_time()
    work(on)
    return time.process_time() - began


def rg(option: str, pattern: str, path: Path) -> float:
    """CPU time of ripgrep, whose output goes into a pipe that somebody reads; NaN without it."""
    if not shutil.which("rg"):
        return float("nan")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reader:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["rg", option, pattern, path], stdout=reader.stdin, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert reader.stdin
        reader.stdin.close()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def reading(path: Path) -> tuple[int, int, int]:
    """Values, kB that they took, and the largest size of a process that reads this log."""
    where = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", READING, path], env=where, check=True, capture_output=True, text=True)
    values, kilobytes, peak = map(int, done.stdout.split())
    return values, kilobytes, peak


def turns(works: Mapping[str, Callable[[], float]], rounds: int = ROUNDS) -> dict[str, float]:
    """The best time of each, taken in turn."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            best[name] = min(best[name], work())
    return best


def ratio(what: str, times: dict[str, float], peer: str, goal: float, *, at_most: bool = False) -> Row:
    """Ours against one peer: how much faster, or how many times its time."""
    ours, theirs = times["ours"], times[peer]
    value = ours / theirs if at_most else theirs / ours
    held = value <= goal if at_most else value >= goal
    return Row(
        what,
        f"{ours * 1e3:.0f} ms against {theirs * 1e3:.0f} ms: {value:.2f}",
        f"{'≤' if at_most else '≥'} {goal:g}",
        held,
    )


def dense(folder: Path, megabytes: int) -> list[Row]:
    """A record in nine lines: the numbers are most of the work."""
    written = console(folder / "dense.log", megabytes * MEGABYTE, lines_a_step=DENSE)
    path = written.path
    times = turns({"ours": partial(cpu, every_value, path), "line": partial(rg, "-o", LINE, path)})
    slow = {"plain": partial(cpu, plain, path), "metric": partial(rg, "-o", METRIC, path)}
    times |= turns(slow, 3)
    held = exact(read(path), written)
    values, kilobytes, _ = reading(path)
    each = kilobytes * 1024 / values
    speed = f"{times['ours'] * 1e3:.0f} ms, {written.count / times['ours'] / 1e6:.1f} M values/s"
    return [
        Row(f"dense log, {megabytes} MB, {written.count} values", speed, "-"),
        Row("… every number is there, bit for bit", str(held), "True", held),
        ratio("… as fast as a plain Python parser, times", times, "plain", 4),
        ratio("… as fast as rg -o of each metric, times", times, "metric", 1.25),
        ratio("… as fast as rg -o of the whole records, times", times, "line", 1.25),
        Row("… memory for each value", f"{each:.1f} bytes", "≤ 12", each <= 12),
    ]


def with_numpy(folder: Path, megabytes: int) -> list[Row]:
    """The same where NumPy 2 prints its names."""
    written = console(folder / "numpy.log", megabytes * MEGABYTE, lines_a_step=DENSE, numpy=True)
    path = written.path
    times = turns({"ours": partial(cpu, every_value, path), "line": partial(rg, "-o", LINE, path)})
    held = exact(read(path), written)
    return [
        Row("dense log with np.float64(…), bit for bit", f"{times['ours'] * 1e3:.0f} ms, {held}", "True", held),
        ratio("… as fast as rg -o of the whole records, times", times, "line", 1.25),
    ]


def realistic(folder: Path, megabytes: int) -> list[Row]:
    """A record in 600 lines: finding it is most of the work."""
    written = console(folder / "realistic.log", megabytes * MEGABYTE, lines_a_step=REALISTIC)
    path = written.path
    times = turns({"ours": partial(cpu, every_value, path), "rg": partial(rg, "-c", LINE, path)})
    all_of_it = turns({"ours": partial(cpu, everything, path)}, 3)["ours"]
    held = exact(read(path), written)
    return [
        Row("realistic log with its phases, checkpoints and engine lines", f"{all_of_it * 1e3:.0f} ms", "-"),
        Row(f"realistic log, {megabytes} MB, bit for bit", f"{times['ours'] * 1e3:.0f} ms, {held}", "True", held),
        ratio("… time of rg -c, times", times, "rg", 4, at_most=True),
    ]


def opening(folder: Path, megabytes: int) -> list[Row]:
    """The whole memory of a process that reads a long log."""
    written = console(folder / "long.log", 5 * megabytes * MEGABYTE, lines_a_step=REALISTIC)
    _, _, peak = reading(written.path)
    os.unlink(written.path)
    return [Row(f"opening {5 * megabytes} MB, largest RSS", f"{peak / 1024:.0f} MB", "< 100 MB", peak < 100 * 1024)]


def following(folder: Path, megabytes: int) -> list[Row]:
    """Lines as they come: a hundred thousand, in blocks ten times a second, and one at a time."""
    written = console(folder / "follow.log", min(megabytes, 40) * MEGABYTE, lines_a_step=REALISTIC)
    lines = written.path.read_bytes().splitlines(keepends=True)[:100_000]
    rows = []
    for what, count in (("ten blocks a second", 10_000), ("line by line", 1)):
        blocks = [b"".join(lines[at : at + count]) for at in range(0, len(lines), count)]
        share = turns({"ours": partial(cpu, feed, blocks)})["ours"]
        rows.append(Row(f"following 100,000 lines/s, {what}", f"{share:.0%} of a core", "< 60 %", share < 0.6))
    return rows


def feed(blocks: list[bytes]) -> None:
    reader = VerlReader()
    for block in blocks:
        reader.feed(block)
        reader.columns.last("actor/entropy")


def file_loggers(folder: Path, megabytes: int) -> list[Row]:
    """The rows of verl's file logger, in both spellings."""
    rows = []
    for what, spaced in (("0.7.1 and later", False), ("0.6.0 to 0.7.0", True)):
        written = file_logger(folder / "rows.jsonl", megabytes // 4 * MEGABYTE, spaced=spaced)
        path = written.path
        times = turns({"ours": partial(cpu, every_value, path), "json": partial(cpu, loads, path)}, 4)
        rows.append(ratio(f"file logger of verl {what}, as fast as json.loads, times", times, "json", 4))
        held = exact(read(path), written)
        rows.append(Row("… every number is there, bit for bit", str(held), "True", held))
    return rows


MEASURED = (dense, with_numpy, realistic, opening, following, file_loggers)


def verl_logs(megabytes: int = 200) -> list[Row]:
    """All of this module, with logs of that size."""
    rows = []
    for measure in MEASURED:
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(Path(folder), megabytes)
    return rows


if __name__ == "__main__":
    print("| what | measured | goal | |\n|---|---|---|---|")
    for row in verl_logs(*map(int, sys.argv[1:2])):
        mark = {True: "held", False: "MISSED", None: ""}[row.held]
        print(f"| {row.what} | {row.measured} | {row.goal} | {mark} |", flush=True)
