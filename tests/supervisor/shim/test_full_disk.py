"""A disk that takes nothing: deaths are held as zombies, timers and stops go on, and all is recorded in the end."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from support.gates import fates
from support.processes import signals_of, wait_dead
from support.runs import ShimRun, kill, rank_argv
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.gates import Gate

    Trials = Callable[[int], Iterator[tuple[ShimRun, Gate, random.Random]]]

SLEEP = ["/bin/sleep", "3600"]
FREE = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[ShimRun]:
    """A run on a disk of its own that can be filled; the shim's stderr lies there too."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    found = ShimRun(disk / "run", run=f"test-{tmp_path.name}")
    yield found
    for pid in _shim_of(found):  # on a full disk it may be on no record
        kill(pid)
    found.clean()
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(run: ShimRun) -> Path:
    """Takes all space there is; returns the file to remove."""
    filler = run.path / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def wait_ranks_dead(run: ShimRun, *ranks: int) -> None:
    """Until these ranks are gone or zombies, whatever is on record."""
    wait_dead(*(run.pid(rank) for rank in ranks))


def test_timers_and_deaths_on_a_full_disk(tiny: ShimRun, gate: Gate) -> None:
    """Record and stderr on one full disk: the grace runs out, hung peers are ended, no status is lost."""
    tiny.start([*gate.fates(36), SLEEP, rank_argv("stubborn")], limits={"grace": 0.3, "terminate": 1.5})
    tiny.wait_for("spawn_done")
    wait_until(lambda: signal.SIGTERM in signals_of(tiny.pid(37), "SigIgn"))
    pids, filler = tiny.shim_pids(), fill(tiny)
    gate.open()
    wait_ranks_dead(tiny, *range(38))
    wait_until(lambda: _held(tiny) > 0, what="zombies that hold what is not on record")
    assert len(tiny.of("exit")) < 38
    _must_not_spin(tiny.worker)
    assert tiny.shim_pids() == pids
    filler.unlink()
    tiny.wait_done()
    tiny.check()
    assert tiny.ends() == {**fates(36), 36: ("killed", "SIGTERM"), 37: ("killed", "SIGKILL")}
    assert [tiny.exit_of(rank)["sent"] for rank in (0, 36, 37)] == [[], ["SIGTERM"], ["SIGTERM", "SIGKILL"]]
    late = [r for r in tiny.records if "written_m" in r]
    assert late
    assert all(r["written_m"] > r["m"] for r in late)
    assert not tiny.of("takeover", "guard_lost")


def _held(run: ShimRun) -> int:
    states = [procfs.stat(r["pid"]) for r in run.of("spawned")]
    return sum(found is not None and found.has_ended for found in states)


def _must_not_spin(pid: int) -> None:
    found = procfs.stat(pid)
    assert found is not None
    before = found.cpu_ticks
    time.sleep(0.7)  # what is measured is the time itself
    found = procfs.stat(pid)
    assert found is not None
    assert found.cpu_ticks - before < 20, "it waits for the disk, and does not run in a circle"


def test_a_stop_by_signal_on_a_full_disk(tiny: ShimRun) -> None:
    """No request file can be written there: a signal to the worker asks for the same."""
    tiny.start([SLEEP, rank_argv("stubborn")], limits={"interrupt": 1.5, "terminate": 0.2})
    tiny.wait_for("spawn_done")
    wait_until(lambda: signal.SIGTERM in signals_of(tiny.pid(1), "SigIgn"))
    _exhaust_page(tiny)
    filler = fill(tiny)
    with pytest.raises(OSError, match="No space"):
        tiny.request("stop")
    os.kill(tiny.worker, signal.SIGTERM)
    wait_ranks_dead(tiny, 0, 1)
    assert len(tiny.shim_pids()) == 2
    filler.unlink()
    tiny.wait_done()
    assert tiny.ends() == {0: ("killed", "SIGINT"), 1: ("killed", "SIGKILL")}
    assert not tiny.of("first_failure")


def _exhaust_page(run: ShimRun) -> None:
    """Grows the record to the end of its page, so that it takes not one more byte (a blank line is no record)."""
    size = (run.path / "ranks.jsonl").stat().st_size
    with (run.path / "ranks.jsonl").open("ab") as file:
        file.write(b" " * (-size % 4096 - 1) + b"\n")


def test_the_worker_killed_during_a_stop_on_a_full_disk(tiny: ShimRun) -> None:
    """What was asked for, and which deaths were ours, is known to the guard although the disk knows nothing of it."""
    tiny.start([SLEEP, SLEEP, rank_argv("stubborn")], limits={"interrupt": 1.5, "terminate": 0.5, "grace": 600})
    tiny.wait_for("spawn_done")
    wait_until(lambda: signal.SIGTERM in signals_of(tiny.pid(2), "SigIgn"))
    worker = tiny.worker
    _exhaust_page(tiny)
    filler = fill(tiny)
    os.kill(worker, signal.SIGTERM)
    wait_ranks_dead(tiny, 0, 1)
    kill(worker)
    wait_ranks_dead(tiny, 2)
    filler.unlink()
    tiny.wait_done()
    tiny.check()
    assert tiny.ends() == {0: ("killed", "SIGINT"), 1: ("killed", "SIGINT"), 2: ("killed", "SIGKILL")}
    assert [tiny.exit_of(rank)["sent"] for rank in range(3)] == [
        ["SIGINT"],
        ["SIGINT"],
        ["SIGINT", "SIGTERM", "SIGKILL"],
    ]
    assert not tiny.of("first_failure")


def test_a_start_on_a_full_disk_starts_nothing(tiny: ShimRun) -> None:
    for folder in ("control", "ranks"):
        (tiny.path / folder).mkdir(parents=True)
    (tiny.path / "ranks.jsonl").touch()
    filler = fill(tiny)
    tiny.start([SLEEP] * 2)
    wait_until(lambda: _waits(tiny), what="a worker that has nothing to do but wait")
    assert not procfs.marked(tiny.run)
    filler.unlink()
    tiny.wait_done()
    tiny.check()
    (failed,) = tiny.of("spawn_failed")
    assert (failed["member"], failed["errno"]) == ("0", errno.ENOSPC)
    assert not tiny.of("spawned")


def _waits(run: ShimRun) -> bool:
    """Whether a shim process of the run, which nothing on disk names, sleeps between two tries to write."""
    return any("nanosleep" in _wchan(pid) for pid in _shim_of(run))


def _shim_of(run: ShimRun) -> list[int]:
    path = os.fsencode(run.path) + b"\0"
    return [pid for pid in procfs.pids() if procfs.command_line(pid).endswith(path)]


def _wchan(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def test_a_file_that_may_not_grow(shim: ShimRun, gate: Gate) -> None:
    """EFBIG instead of ENOSPC, with the limit inside a line: it is torn, and written again."""
    shim.start(gate.fates(), limits={"grace": 600})
    shim.wait_for("spawn_done")
    limit = (shim.path / "ranks.jsonl").stat().st_size + 300  # more than one line of an exit, less than two
    resource.prlimit(shim.worker, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    gate.open()
    wait_ranks_dead(shim, *range(6))
    record = shim.path / "ranks.jsonl"
    wait_until(lambda: record.stat().st_size == limit, what="a record of its full size")
    wait_until(lambda: (len(shim.of("exit")), _held(shim)) == (1, 5), what="one exit on record, five zombies")
    resource.prlimit(shim.worker, resource.RLIMIT_FSIZE, FREE)
    shim.wait_done()
    shim.check()
    assert shim.ends() == fates()


def test_failing_writes_and_kills_at_random(trials: Trials) -> None:
    for run, gate, rng in trials(8):
        run.start([*gate.fates(), SLEEP, SLEEP], limits={"grace": 0.05, "terminate": 20})
        run.wait_for("spawn_done")
        worker, pids = run.worker, run.shim_pids()
        limit = (run.path / "ranks.jsonl").stat().st_size + rng.randrange(1500)
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        gate.open()
        time.sleep(rng.uniform(0, 0.1))
        if rng.random() < 0.7:
            kill(worker)
            time.sleep(rng.uniform(0, 0.1))
        for pid in run.shim_pids():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, FREE)
        run.wait_done()
        run.check()
        assert run.ends() == {**fates(), 6: ("killed", "SIGTERM"), 7: ("killed", "SIGTERM")}
        assert [run.exit_of(rank)["sent"] for rank in range(8)] == [[]] * 6 + [["SIGTERM"]] * 2
        assert len(run.of("first_failure")) == 1
        assert run.of("first_failure")[0]["rank"] in range(1, 6)
