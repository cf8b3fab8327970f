"""TensorBoard event files against TensorBoard's own reader.

`GRPOTUI_BENCH_TENSORBOARD` names an interpreter that has the `tensorboard` package; without it only ours is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from support.event_files import training

from bench.measures import Row
from grpotui_supervisor.logs.tensorboard import TensorBoardReader

TAGS, STEPS, GOAL = 20, 10_000, 100.0
PEER = os.environ.get("GRPOTUI_BENCH_TENSORBOARD", "")
TIMES = "times as many scalars a second as EventAccumulator"
WHY_NOT = "not measured: GRPOTUI_BENCH_TENSORBOARD names no interpreter with tensorboard"
SCRIPT = """
import json, sys, time
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
best = 1e9
for _ in range(3):
    began = time.process_time()
    reader = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
    reader.Reload()
    found = {tag: reader.Scalars(tag) for tag in reader.Tags()["scalars"]}
    best = min(best, time.process_time() - began)
json.dump([best, {tag: [[e.step, e.wall_time, e.value] for e in events] for tag, events in found.items()}], sys.stdout)
"""


def event_files() -> list[Row]:
    """Scalars a second of CPU time, and whether both readers found the same."""
    tags = [f"train/{'rewards/' * (n % 3)}metric_{n}/mean" for n in range(TAGS)]
    data = training(tags, range(1, STEPS + 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.out.tfevents.1"
        path.write_bytes(data)
        reader, seconds = _ours(data)
        rate = TAGS * STEPS / seconds
        rows = [Row(f"{TAGS * STEPS} scalars of an event file", f"{rate / 1e6:.2f} M/s", "")]
        rows += _peer(path, reader, seconds) if PEER else [Row(TIMES, WHY_NOT, f"≥ {GOAL:.0f} x")]
    return rows


def _peer(path: Path, reader: TensorBoardReader, seconds: float) -> list[Row]:
    answer = subprocess.run([PEER, "-c", SCRIPT, str(path)], capture_output=True, check=True)
    peer_seconds, found = json.loads(answer.stdout)
    ours = {tag: list(zip(p.steps, p.walls, p.values, strict=True)) for tag, p in reader.points.items()}
    same = ours == {tag: [tuple(event) for event in events] for tag, events in found.items()}
    ratio = peer_seconds / seconds
    return [
        Row("the same by EventAccumulator", f"{TAGS * STEPS / peer_seconds / 1e3:.0f} k/s", ""),
        Row(TIMES, f"{ratio:.0f} x", f"≥ {GOAL:.0f} x", ratio >= GOAL),
        Row("steps, wall times, values", "equal" if same else "DIFFERENT", "equal", same),
    ]


def _ours(data: bytes) -> tuple[TensorBoardReader, float]:
    best, reader = float("inf"), TensorBoardReader()
    for _ in range(7):
        began = time.process_time()
        reader = TensorBoardReader()
        reader.feed(data)
        best = min(best, time.process_time() - began)
    return reader, best
