"""Both shim processes killed at any moment: nothing on record is lost or doubled, and nothing unknown is a success."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from support.processes import reap, wait_dead
from support.runs import kill, rank_argv

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from support.gates import Gate
    from support.runs import ShimRun

    Trials = Callable[[int], Iterator[tuple[ShimRun, Gate, random.Random]]]

SLEEP = ["/bin/sleep", "3600"]
STUBBORN = ["/bin/sh", "-c", 'trap "" INT TERM; exec sleep 3600']
SHORT = {"interrupt": 0.2, "terminate": 0.2, "grace": 600, "leftover_grace": 0.1}
PHASES = ("spawning", "running", "dying", "stopping")


@pytest.mark.usefixtures("never_reaps")
@pytest.mark.parametrize("phase", PHASES)
def test_both_killed_at_a_random_moment(trials: Trials, phase: str) -> None:
    for run, gate, rng in trials(5):
        ranks = [gate.argv("exit 0"), gate.argv("exit 3"), SLEEP, STUBBORN, gate.argv("exit 0"), SLEEP]
        run.start(ranks, limits=SHORT)
        _provoke(run, gate, phase)
        time.sleep(rng.uniform(0, {"spawning": 0.02, "stopping": 0.5}.get(phase, 0.01)))
        run.kill_both()
        before = [r for r in run.records if r["ev"] != "header"]
        if phase == "running":
            gate.open()
        if rng.random() < 0.5:
            reap()  # and else their zombies hold the statuses
        run.adopt(limits=SHORT)
        gate.open()
        run.request("stop")
        run.wait_done()
        reap()
        _check(run, before)


def _provoke(run: ShimRun, gate: Gate, phase: str) -> None:
    run.wait_for("shim")
    if phase == "spawning":
        return
    run.wait_for("spawn_done")
    if phase == "dying":
        gate.open()
    elif phase == "stopping":
        run.request("stop")


def _check(run: ShimRun, before: list[dict[str, object]]) -> None:
    run.check()
    after = run.records
    kept = [r for r in after if r["ev"] != "header"]
    assert kept[: len(before)] == before, "what is on record stays as it was"
    ends = [r["member"] for r in after if r["ev"] in ("exit", "lost")]
    (spawn_done, *_) = run.of("spawn_done")
    assert len(set(ends)) == len(ends), f"ended twice: {ends}"
    known = {r["member"] for r in run.of("spawned")} | {r["member"] for r in run.of("lost")}
    assert set(ends) == known
    assert known | set(spawn_done["not_started"]) == {str(rank) for rank in range(6)}
    for end in run.of("exit"):
        if end["code"] == 0:
            assert end["rank"] in (0, 4), f"made up: {end}"
        elif end["code"] is not None:
            assert (end["rank"], end["code"]) == (1, 3), f"made up: {end}"
        else:
            assert end["signal"] in end["sent"], end
    assert not [pid for pid in procfs.marked(run.run) if procfs.is_running(pid)]


def test_worker_and_guard_killed_one_after_the_other(trials: Trials) -> None:
    """The worker, then the guard that took its place: the ranks are nobody's, and are adopted."""
    for run, gate, rng in trials(4):
        run.start([gate.argv("exit 3"), SLEEP, SLEEP], limits=SHORT)
        worker, guard = run.worker, run.guard
        kill(worker)
        time.sleep(rng.uniform(0, 0.02))
        kill(guard)
        wait_dead(worker, guard)
        run.adopt(limits=SHORT)
        run.request("kill")
        run.wait_done()
        assert not [pid for pid in procfs.marked(run.run) if procfs.is_running(pid)]
        ends = [r["member"] for r in run.of("exit", "lost")]
        assert len(set(ends)) == len(ends)


def test_the_adopting_shim_has_a_guard_too(trials: Trials) -> None:
    for run, _gate, _rng in trials(2):
        run.start([SLEEP, rank_argv("orphan")], limits=SHORT)
        run.wait_for("adopted")
        run.kill_both()
        run.adopt(limits=SHORT)
        run.wait_for("shim", count=2)
        worker = run.worker
        kill(worker)
        (takeover,) = run.wait_for("takeover")
        assert takeover["worker"] == worker
        os.kill(takeover["guard"], signal.SIGTERM)
        run.wait_done()
        ends = [r["member"] for r in run.of("exit", "lost")]
        assert sorted(ends) == ["0", "1"]
        assert not [pid for pid in procfs.marked(run.run) if procfs.is_running(pid)]
