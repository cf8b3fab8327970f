"""Six charts in a real terminal, all of them a point longer four times a second: share of a core, and memory."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import resource
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App
from textual.containers import Grid
from tui.gallery import overview

from bench.measures import Row
from grpotui.tui.widgets.chart import LineChart

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from grpotui.tui.chart_parts import Chart

HZ, SECONDS, WARM_S = 4, 8.0, 1.5
COLUMNS, ROWS = 160, 48
POINTS = (10_000, 100_000)
CPU_GOAL, RSS_GOAL = 10.0, 80.0


def six_charts() -> list[Row]:
    """At 10,000 and at 100,000 points."""
    rows: list[Row] = []
    for points in POINTS:
        found = _measured(points)
        cpu, rss = found["cpu_percent"], found["rss_mb"]
        rows += [
            Row(
                f"six charts, {points:,} points, {HZ} Hz", f"{cpu:.1f} % of a core", f"≤ {CPU_GOAL} %", cpu <= CPU_GOAL
            ),
            Row("their memory", f"{rss:.0f} MB, with the points", f"≤ {RSS_GOAL} MB", rss <= RSS_GOAL),
        ]
    return rows


def _measured(points: int) -> dict[str, float]:
    """What the program below found out about itself in a terminal of 160 columns and 48 rows."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm-256color"}
        with subprocess.Popen(
            [sys.executable, "-m", "bench.charts", str(points), str(answer)],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={**environment, "COLORTERM": "truecolor"},
        ) as child:
            os.close(follower)
            reader = threading.Thread(target=_drain, args=(leader,))
            reader.start()
            child.wait(timeout=120)
        reader.join()
        os.close(leader)
        found: dict[str, float] = json.loads(answer.read_text())
    return found


def _drain(leader: int) -> None:
    """A terminal reads what is written to it."""
    try:
        while os.read(leader, 65536):
            pass
    except OSError:  # the other end was closed
        return


class Six(App[dict[str, float]]):
    """Grows its charts, then tells its own CPU time."""

    CSS = "Grid { grid-size: 3 2; }"

    def __init__(self, charts: list[Chart], points: int) -> None:
        super().__init__()
        self.charts, self.points = charts, points
        self.began = (0.0, 0.0)

    def compose(self) -> ComposeResult:
        with Grid():
            for number in range(len(self.charts)):
                yield LineChart(colour=number)

    def on_mount(self) -> None:
        for widget in self.query(LineChart):
            widget.smoothing = 0.9
        self.set_interval(1 / HZ, self.grow)
        self.set_timer(WARM_S, self.begin)
        self.set_timer(WARM_S + SECONDS, self.end)

    def grow(self) -> None:
        self.points += 1
        for widget, chart in zip(self.query(LineChart), self.charts, strict=True):
            widget.show(replace(chart, lines=tuple(replace(line, count=self.points) for line in chart.lines)))

    def begin(self) -> None:
        self.began = (time.process_time(), time.monotonic())

    def end(self) -> None:
        cpu, wall = time.process_time() - self.began[0], time.monotonic() - self.began[1]
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.exit({"cpu_percent": 100 * cpu / wall, "rss_mb": rss})


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(Six(overview(int(sys.argv[1]) + 100), int(sys.argv[1])).run()))
