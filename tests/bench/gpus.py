"""What it costs to look at eight GPUs once a second, beside nvitop and gpustat on the same stand-in for the driver.

The stand-in answers at once and in the caller's time: what a real driver takes comes on top, for all of them alike.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from support.fake_gpus import FakeGpus, gpu

from bench.measures import Row

WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu_work.py")
SECONDS, TIMES = 20, 3
GOAL = 0.003
PEERS = os.environ.get("GRPOTUI_BENCH_GPU_PEERS")
"""An interpreter with nvitop and gpustat."""


def gpu_sampling() -> list[Row]:
    """CPU of a process that samples, as a share of a core; ours and the peers in turn."""
    shares: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(["/bin/sleep", "600"]) as holder:
        on = {"proc.0": f"{os.getpid()} C 20GiB", "proc.1": f"{holder.pid} C 4GiB"}  # a claim costs the caller files
        fake = FakeGpus(Path(folder), gpus=[gpu(index, util=97, **on) for index in range(8)])
        for _ in range(TIMES):
            for who in ("ours", "nvitop", "gpustat") if PEERS else ("ours",):
                shares.setdefault(who, []).append(_share(fake, who))
        holder.kill()
    medians = {who: statistics.median(found) for who, found in shares.items()}
    ours = medians.pop("ours")
    beside = ", ".join(f"{who} {share / ours:.1f} times as much" for who, share in medians.items())
    return [
        Row("CPU of sampling 8 GPUs with 2 processes each at 1 Hz", f"{ours * 100:.3f} % of a core",
            f"< {GOAL * 100:g} % ({beside or 'peers: not installed'})", ours < GOAL)
    ]  # fmt: skip


def _share(fake: FakeGpus, who: str) -> float:
    python = sys.executable if who == "ours" else str(PEERS)
    env = {**os.environ, **fake.env(), "PYTHONPATH": os.pathsep.join(sys.path) if who == "ours" else ""}
    done = subprocess.run([python, WORK, who, str(SECONDS)], check=True, capture_output=True, text=True, env=env)
    return float(done.stdout)
