"""The logs page in a terminal: a key while a log streams, and a large log from its command to its last lines."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.terminal import Terminal

from bench.following import FLOOD, attached
from bench.measures import Row
from bench.verl_logs import console

RATE = 50_000
PRESSES = 40
MEGABYTES = 200
_GAP_S = 0.25


def key_while_streaming() -> list[Row]:
    """From a key to the screen that it leads to, while 50,000 lines a second come; the end of the log is followed."""
    with attached("step:1 - actor/loss:0.5\n") as (directory, log, _):
        home = os.path.dirname(os.path.dirname(directory.path))
        lines = RATE * 60
        script = FLOOD.replace("/ 100 -", f"* 1000 / {RATE} -")
        command = [sys.executable, "-m", "grpotui", "attach", directory.run_id]
        with Terminal(command, {"GRPOTUI_HOME": home}) as terminal:
            terminal.wait_for("overview", seconds=60)
            terminal.press("5")
            terminal.wait_for("▼ end", seconds=60)
            writer = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", script, str(log), str(lines // 1000)], stdout=subprocess.DEVNULL
            )
            try:
                terminal.wait_until(lambda text: _lines(text) > RATE, "lines", 60)
                began, before = time.monotonic(), _lines(terminal.text)
                late = _presses(terminal, "k")
                rate = (_lines(terminal.text) - before) / (time.monotonic() - began)
                memory = _rss_mib(terminal.process.pid)
            finally:
                writer.kill()
                writer.wait()
            terminal.press("q")
            terminal.wait_end()
    median, worst = statistics.median(late), late[int(len(late) * 0.95)]
    name, told = f"key → repaint, logs page at {rate:,.0f} lines/s", f"median {median:.0f} ms, p95 {worst:.0f} ms"
    return [
        Row(name, told, "≤ 50 ms", median <= 50),
        Row("memory of that client (RSS)", f"{memory:.0f} MiB", "≤ 80 MiB", memory <= 80),
    ]  # fmt: skip


def _presses(terminal: Terminal, away: str) -> list[float]:
    """Away from the end, which is followed no more, and to the end again: one word in the frame tells which."""
    late = []
    for number in range(PRESSES):
        time.sleep(_GAP_S)
        began = time.monotonic()
        terminal.press(away if number % 2 == 0 else "G")
        (terminal.wait_gone if number % 2 == 0 else terminal.wait_for)("▼ end")
        late.append((time.monotonic() - began) * 1e3)
    return sorted(late)


def large_log() -> list[Row]:
    """`replay` of 200 MB: its last lines, its first, a search to its end, and the memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = console(Path(folder) / "train.log", MEGABYTES * 1_000_000, lines_a_step=600).path
        began = time.monotonic()
        with Terminal([sys.executable, "-m", "grpotui", "replay", str(path)], {"GRPOTUI_HOME": folder}) as terminal:
            terminal.wait_for("overview", seconds=60)
            first = time.monotonic() - began
            terminal.press("5")
            terminal.wait_until(lambda text: _lines(text) > 1_000_000 and "▼ end" in text, "all lines", 60)
            shown = time.monotonic() - began
            terminal.wait_for(" of ", "record", seconds=120)
            terminal.wait_until(lambda text: "reading" not in text, "all of it read", 120)
            jumps = statistics.median(_presses(terminal, "g"))
            terminal.press("/no such words\r")
            terminal.wait_for("no 'no such words' below", seconds=60)
            terminal.press("g")
            terminal.wait_gone("no 'no such words' below")
            began = time.monotonic()
            terminal.press("n")
            terminal.wait_for("no 'no such words' below", seconds=60)
            searched = (time.monotonic() - began) * 1e3
            memory = _rss_mib(terminal.process.pid)
            terminal.press("q")
            terminal.wait_end()
    return [
        Row(f"{MEGABYTES} MB log: first frame", f"{first:.2f} s", "< 0.5 s", first < 0.5),
        Row(f"{MEGABYTES} MB log: command → its last lines on the logs page", f"{shown:.2f} s", "-"),
        Row(f"{MEGABYTES} MB log: top ↔ bottom", f"median {jumps:.0f} ms", "≤ 50 ms", jumps <= 50),
        Row(f"{MEGABYTES} MB log: search through all of it", f"{searched:.0f} ms", "-"),
        Row(f"{MEGABYTES} MB log: memory of the client (RSS)", f"{memory:.0f} MiB", "≤ 80 MiB", memory <= 80),
    ]  # fmt: skip


def _lines(text: str) -> int:
    found = re.search(r"([0-9,]+) lines", text)
    return int(found[1].replace(",", "")) if found else 0


def _rss_mib(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")
