"""SIGKILL of one of the two shim processes: the other goes on, and no status is lost or doubled."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from support.gates import fates
from support.processes import freeze, signals_of
from support.runs import kill, rank_argv
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from support.gates import Gate
    from support.runs import ShimRun

    Trials = Callable[[int], Iterator[tuple[ShimRun, Gate, random.Random]]]

SLEEP = ["/bin/sleep", "3600"]


def marked(run: ShimRun) -> set[int]:
    """Living processes of the run."""
    return {pid for pid in procfs.marked(run.run) if procfs.is_running(pid)}


def wait_marked(run: ShimRun, pids: set[int]) -> None:
    """Until exactly these live: a process shows its mark only after its exec."""
    wait_until(lambda: marked(run) == pids, what=f"{pids} as the only processes of the run")


def wait_stubborn(run: ShimRun) -> None:
    """Until all ranks are started and ignore TERM."""
    run.wait_for("spawn_done")
    pids = [r["pid"] for r in run.of("spawned")]
    wait_until(lambda: all(signal.SIGTERM in signals_of(pid, "SigIgn") for pid in pids), what="stubborn ranks")


def wait_pending(pid: int, number: int) -> None:
    """Until a stopped process has been sent the signal."""
    wait_until(lambda: number in signals_of(pid, "ShdPnd"), what="the forwarded signal")


def test_worker_killed_while_nothing_happens(shim: ShimRun, gate: Gate) -> None:
    shim.start(gate.fates(), limits={"grace": 60})
    shim.wait_for("spawn_done")
    kill(shim.worker)
    (takeover,) = shim.wait_for("takeover")
    assert (takeover["worker"], takeover["how"], takeover["signal"]) == (shim.worker, "killed", "SIGKILL")
    gate.open()
    shim.wait_done()
    shim.check()
    assert shim.ends() == fates()
    assert not shim.of("lost", "adopted")


def test_worker_killed_around_the_deaths(trials: Trials) -> None:
    for run, gate, rng in trials(8):
        run.start(gate.fates(), limits={"grace": 60})
        run.wait_for("spawn_done")
        worker, after = run.worker, rng.uniform(-0.001, 0.004)
        for act in sorted((0.0, after)):
            time.sleep(max(0.0, act))  # the fault's own moment, no waiting for anything
            if act == after:
                kill(worker)
            else:
                gate.open()
        run.wait_done()
        run.check()
        assert run.ends() == fates()


def test_worker_killed_in_the_spawn_loop(trials: Trials) -> None:
    """Whatever was under way, each rank is started once: by the worker, or by the guard that goes on."""
    for run, _gate, rng in trials(10):
        run.start([SLEEP] * 32, limits={"terminate": 20, "interrupt": 20})
        worker = run.worker
        time.sleep(rng.uniform(0, 0.04))
        kill(worker)
        run.wait_for("takeover")
        run.wait_for("spawn_done")
        spawned = run.of("spawned")
        assert sorted(int(r["member"]) for r in spawned) == list(range(32))
        wait_marked(run, {r["pid"] for r in spawned})
        os.kill(run.guard, signal.SIGTERM)
        run.wait_done()
        run.check()
        assert set(run.ends().values()) == {("killed", "SIGINT")}
        assert all(r["sent"] == ["SIGINT"] for r in run.of("exit"))
        assert not marked(run)


def test_worker_killed_while_short_ranks_are_started(trials: Trials) -> None:
    """They may be dead before their start is on record; still none of them runs twice, and all statuses are true."""
    for run, _gate, rng in trials(10):
        run.start([["/bin/sh", "-c", f"echo once; exit {rank}"] for rank in range(24)], limits={"grace": 600})
        worker = run.worker
        time.sleep(rng.uniform(0, 0.04))
        kill(worker)
        run.wait_done()
        run.check()
        assert run.ends() == {rank: ("exited", rank) for rank in range(24)}
        for rank in range(24):
            assert (run.path / f"ranks/{rank}/stdout.log").read_text() == "once\n"


def test_worker_killed_in_the_middle_of_a_stop(trials: Trials) -> None:
    for run, _gate, rng in trials(4):
        run.start([rank_argv("stubborn")] * 8, limits={"interrupt": 0.2, "terminate": 0.2})
        wait_stubborn(run)
        worker = run.worker
        os.kill(worker, signal.SIGTERM)
        time.sleep(rng.uniform(0, 0.45))
        kill(worker)
        run.wait_done()
        run.check()
        assert set(run.ends().values()) == {("killed", "SIGKILL")}
        assert all(r["sent"][-1] == "SIGKILL" for r in run.of("exit"))
        assert not run.of("first_failure")


def test_a_stop_that_dies_with_the_worker_is_not_forgotten(trials: Trials) -> None:
    """The guard passes a signal on; what the worker did not put on record before its death is asked for again."""
    for run, _gate, _rng in trials(4):
        run.start([SLEEP] * 2, limits={"interrupt": 20})
        run.wait_for("spawn_done")
        freeze(run.worker)
        os.kill(run.guard, signal.SIGTERM)
        wait_pending(run.worker, signal.SIGTERM)
        kill(run.worker)
        run.wait_done()
        run.check()
        assert set(run.ends().values()) == {("killed", "SIGINT")}
        assert not run.of("first_failure")
        assert [r["what"] for r in run.of("request")] == ["stop"]


def test_guard_killed(shim: ShimRun, gate: Gate) -> None:
    shim.start(gate.fates(), limits={"grace": 60})
    shim.wait_for("spawn_done")
    kill(shim.guard)
    shim.wait_for("guard_lost")
    gate.open()
    shim.wait_done()
    shim.check()
    assert shim.ends() == fates()
    assert len(shim.of("guard_lost")) == 1


def test_a_hang_up_changes_nothing(shim: ShimRun, gate: Gate) -> None:
    shim.start(gate.fates(), limits={"grace": 60})
    shim.wait_for("spawn_done")
    pids = shim.shim_pids()
    for pid in pids:
        os.kill(pid, signal.SIGHUP)
    gate.open()
    shim.wait_for("exit", count=6)
    assert not shim.of("takeover", "guard_lost", "request")
    shim.wait_done()
    assert shim.ends() == fates()


def test_a_record_that_was_emptied_starts_nothing_twice(shim: ShimRun) -> None:
    """Somebody truncates the record, and the worker is killed: what the guard then knows are the marks."""
    shim.start([SLEEP] * 3, limits={"interrupt": 20})
    shim.wait_for("spawn_done")
    pids = {r["pid"] for r in shim.of("spawned")}
    wait_marked(shim, pids)
    worker = shim.worker
    os.truncate(shim.path / "ranks.jsonl", 0)
    kill(worker)
    shim.wait_for("takeover")
    shim.wait_for("spawn_done")
    assert marked(shim) == pids
    assert {r["pid"] for r in shim.of("spawned") if r["recovered"]} == pids
    os.kill(shim.of("takeover")[0]["guard"], signal.SIGTERM)
    shim.wait_done()
    assert set(shim.ends().values()) == {("killed", "SIGINT")}
