"""Stops that a person asks for: each step, whom it reaches, and what is on record about it."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from support.processes import freeze, signals_of, wait_dead
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
SHORT = {"interrupt": 0.3, "terminate": 0.3}
ENOUGH = {"interrupt": 1.5, "terminate": 1.5}
"""Long enough for what obeys to do so, on a busy machine too."""


def steps(run: ShimRun) -> list[tuple[str, str]]:
    """Plan and signal of each stop record."""
    return [(r["plan"], r["signal"]) for r in run.of("stop")]


def wait_ignored(pid: int, number: int) -> None:
    """Until the process ignores the signal."""
    wait_until(lambda: number in signals_of(pid, "SigIgn"), what=f"{pid} to ignore {number}")


def test_stop_goes_from_int_over_term_to_kill(shim: ShimRun) -> None:
    only_term = ["/bin/sh", "-c", 'trap "" INT; exec sleep 3600']
    shim.start([SLEEP, only_term, rank_argv("stubborn")], limits=ENOUGH)
    shim.wait_for("spawn_done")
    wait_ignored(shim.pid(1), signal.SIGINT)
    wait_ignored(shim.pid(2), signal.SIGTERM)
    shim.request("stop", why="the test wants it")
    shim.wait_done()
    shim.check()
    assert steps(shim) == [("stop", "SIGINT"), ("stop", "SIGTERM"), ("stop", "SIGKILL")]
    assert [r["members"] for r in shim.of("stop")] == [["0", "1", "2"], ["1", "2"], ["2"]]
    assert shim.ends() == {0: ("killed", "SIGINT"), 1: ("killed", "SIGTERM"), 2: ("killed", "SIGKILL")}
    assert shim.exit_of(2)["sent"] == ["SIGINT", "SIGTERM", "SIGKILL"]
    (request,) = shim.of("request")
    assert (request["what"], request["uid"], request["why"]) == ("stop", os.geteuid(), "the test wants it")
    assert not shim.of("first_failure")


@pytest.mark.parametrize("how", ["request", "signal"])
def test_kill_is_kill_at_once(shim: ShimRun, how: str) -> None:
    shim.start([SLEEP, rank_argv("orphan-stubborn"), SLEEP], limits={"interrupt": 60, "terminate": 60})
    shim.wait_for("exit")
    shim.wait_for("adopted")
    shim.request("stop")
    shim.wait_for("stop")
    if how == "request":
        shim.request("kill")
    else:
        os.kill(shim.worker, signal.SIGQUIT)
    shim.wait_done(10)
    assert steps(shim)[-1] == ("kill", "SIGKILL")
    assert [r["what"] for r in shim.of("request")] == ["stop", "kill"]


def test_a_stopped_rank_is_continued(shim: ShimRun) -> None:
    shim.start([SLEEP, SLEEP], limits={"interrupt": 60})
    shim.wait_for("spawn_done")
    freeze(shim.pid(0))
    shim.request("stop")
    shim.wait_done(10)
    assert set(shim.ends().values()) == {("killed", "SIGINT")}


def test_orphans_that_ignore_everything_are_killed_as_ours(shim: ShimRun) -> None:
    shim.start([rank_argv("orphan-stubborn"), SLEEP], limits=SHORT)
    orphan = shim.wait_for("adopted")[-1]["pid"]
    wait_ignored(orphan, signal.SIGTERM)
    shim.request("stop")
    shim.wait_done()
    end = next(r for r in shim.of("orphan_exit") if r["pid"] == orphan)
    assert (end["signal"], end["sent"]) == ("SIGKILL", ["SIGINT", "SIGTERM", "SIGKILL"])
    assert not procfs.is_running(orphan)


@pytest.mark.parametrize("what", ["stop", "kill"])
def test_a_deep_tree_of_sessions_is_gone(shim: ShimRun, what: str) -> None:
    """Each level becomes ours when the one above it has ended, and gets the present signal without waiting."""
    shim.start([rank_argv("tree")], limits={"interrupt": 60, "terminate": 60})
    shim.wait_for("spawned")
    wait_until(lambda: len(procfs.marked(shim.run)) == 6, what="the whole tree")
    tree = procfs.marked(shim.run)
    shim.request(what)
    shim.wait_done(30)
    assert not [pid for pid in tree if procfs.is_running(pid)]
    assert len(shim.of("orphan_exit")) == 5
    assert all(r["sent"] for r in shim.of("orphan_exit", "exit"))


def test_interrupt_is_int_alone(shim: ShimRun, gate: Gate) -> None:
    """A rank may take its time to save; only when another has ended, the rest is not waited for without end."""
    slow = gate.argv("exit 7")
    slow[2] = f'trap "" INT; {slow[2]}'
    shim.start([slow, rank_argv("stubborn")], limits={"interrupt": 0.1, "terminate": 0.2})
    shim.wait_for("spawn_done")
    for rank in (0, 1):
        wait_ignored(shim.pid(rank), signal.SIGINT)
    shim.request("interrupt")
    shim.wait_for("stop")
    shim.request("interrupt")  # once more: INT is sent once more
    shim.wait_for("stop", count=2)
    assert steps(shim) == [("interrupt", "SIGINT")] * 2
    assert not shim.of("exit")
    gate.open()
    shim.wait_done()
    assert steps(shim)[2:] == [("interrupt", "SIGTERM"), ("interrupt", "SIGKILL")]
    assert shim.ends() == {0: ("exited", 7), 1: ("killed", "SIGKILL")}
    assert shim.exit_of(0)["sent"] == ["SIGINT", "SIGINT"]
    assert not shim.of("first_failure")


def test_interrupt_in_the_grace_after_a_failure(shim: ShimRun) -> None:
    """One rank has ended already, so hung peers must not be waited for without end."""
    shim.start([rank_argv("exit3"), rank_argv("stubborn")], limits={"grace": 600, **SHORT})
    shim.wait_for("first_failure")
    wait_ignored(shim.pid(1), signal.SIGTERM)
    shim.request("interrupt")
    shim.wait_done()
    assert steps(shim) == [("interrupt", s) for s in ("SIGINT", "SIGTERM", "SIGKILL")]
    assert shim.of("first_failure")[0]["rank"] == 0


def test_interrupt_while_only_leftovers_live(shim: ShimRun) -> None:
    shim.start([rank_argv("orphan-stubborn")], limits={"leftover_grace": 600, "leftovers": "keep", **SHORT})
    shim.wait_for("ranks_done")
    wait_ignored(shim.wait_for("adopted")[-1]["pid"], signal.SIGTERM)
    shim.request("interrupt")
    shim.wait_done()
    assert steps(shim) == [("interrupt", s) for s in ("SIGINT", "SIGTERM", "SIGKILL")]


def test_a_segv_before_the_stop_is_a_failure(trials: Trials) -> None:
    for run, _gate, _rng in trials(4):
        run.start([SLEEP, SLEEP], limits={"grace": 600})
        run.wait_for("spawn_done")
        worker, victim = run.worker, run.pid(0)
        freeze(worker)
        os.kill(victim, signal.SIGSEGV)
        wait_dead(victim)
        run.request("stop")
        os.kill(worker, signal.SIGTERM)
        os.kill(worker, signal.SIGCONT)
        run.wait_done()
        run.check()
        kinds = [r["ev"] for r in run.records]
        assert kinds.index("first_failure") < kinds.index("request")
        assert run.of("first_failure")[0]["signal"] == "SIGSEGV"
        assert run.exit_of(0)["sent"] == []
        assert run.ends() == {0: ("killed", "SIGSEGV"), 1: ("killed", "SIGINT")}


def test_a_segv_after_the_stop_is_none(shim: ShimRun) -> None:
    shim.start([["/bin/sh", "-c", 'trap "kill -SEGV $$" INT; while :; do sleep 0.01; done'], SLEEP], limits=ENOUGH)
    shim.wait_for("spawn_done")
    wait_until(lambda: signal.SIGINT in signals_of(shim.pid(0), "SigCgt"), what="the handler")
    shim.request("stop")
    shim.wait_done()
    assert not shim.of("first_failure")
    assert (shim.exit_of(0)["signal"], shim.exit_of(0)["sent"]) == ("SIGSEGV", ["SIGINT"])


def test_a_stop_while_ranks_are_being_started(shim: ShimRun) -> None:
    shim.start([SLEEP] * 200, limits=SHORT)
    os.kill(shim.worker, signal.SIGTERM)
    shim.wait_done()
    shim.check()
    started, (done,) = [r["member"] for r in shim.of("spawned")], shim.of("spawn_done")
    assert started + done["not_started"] == [str(rank) for rank in range(200)]
    assert not shim.of("spawn_failed", "first_failure")


def test_a_stop_outlives_the_worker_in_each_form(trials: Trials) -> None:
    """The request is on record, the worker is killed before it has sent anything."""
    for run, _gate, rng in trials(3):
        run.start([SLEEP] * 2, limits={"interrupt": 60})
        run.wait_for("spawn_done")
        worker, what = run.worker, rng.choice(["stop", "kill", "interrupt"])
        run.request(what)
        run.wait_for("request")
        kill(worker)
        run.wait_done(20)
        run.check()
        assert len(run.of("request")) == 1
        assert set(run.ends().values()) == {("killed", "SIGKILL" if what == "kill" else "SIGINT")}
