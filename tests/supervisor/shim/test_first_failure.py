"""Who died first, who was ended by us, and what their grace and a hold do."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

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
DEADLY = (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGBUS)
HUNG = ["/bin/sh", "-c", 'trap "" INT; sleep 3600 & wait']
"""As a rank that hangs in NCCL: ignores INT, dies of TERM."""


def test_order_of_death_while_the_worker_stands_still(trials: Trials) -> None:
    for run, _gate, rng in trials(4):
        run.start([SLEEP] * 16, limits={"grace": 60})
        run.wait_for("spawn_done")
        worker, order = run.worker, rng.sample(range(16), 16)
        freeze(worker)
        for rank in order:
            _kill_surely(run.pid(rank))
        assert not run.of("exit")
        os.kill(worker, signal.SIGCONT)
        run.wait_done()
        run.check()
        assert [r["rank"] for r in run.of("exit")] == order
        assert [r["rank"] for r in run.of("first_failure")] == [order[0]]


def _kill_surely(pid: int, number: int = signal.SIGKILL) -> None:
    os.kill(pid, number)
    wait_until(lambda: not procfs.is_running(pid), what="a death")


def test_the_first_is_blamed_and_not_its_followers(trials: Trials) -> None:
    """Peers that die by themselves 1 to 20 ms after it are victims, not causes."""
    for run, _gate, rng in trials(25):
        run.start([SLEEP] * 8, limits={"grace": 60})
        run.wait_for("spawn_done")
        order, pids = rng.sample(range(8), 8), [run.pid(rank) for rank in range(8)]
        _kill_surely(pids[order[0]], rng.choice(DEADLY))
        begin = time.monotonic()
        for rank, after in zip(order[1:], sorted(rng.uniform(0.001, 0.02) for _ in range(7)), strict=True):
            time.sleep(max(0.0, begin + after - time.monotonic()))  # the fault's own moment
            os.kill(pids[rank], rng.choice(DEADLY))
        run.wait_done()
        run.check()
        assert [r["rank"] for r in run.of("first_failure")] == [order[0]]
        assert run.of("exit")[0]["rank"] == order[0]
        assert all(r["sent"] == [] for r in run.of("exit"))


def test_hung_peers_end_within_grace_and_plan(shim: ShimRun, gate: Gate) -> None:
    argvs = [rank_argv("stubborn"), HUNG, gate.argv("kill -SEGV $$"), rank_argv("stubborn"), HUNG]
    shim.start(argvs, limits={"grace": 0.3, "terminate": 1.5})
    shim.wait_for("spawn_done")
    wait_until(lambda: all(signal.SIGINT in signals_of(shim.pid(rank), "SigIgn") for rank in (0, 1, 3, 4)))
    gate.open()
    (failure,) = shim.wait_for("first_failure")
    shim.wait_done()
    shim.check()
    assert (failure["rank"], failure["how"], failure["signal"]) == (2, "killed", "SIGSEGV")
    assert [shim.exit_of(rank)["sent"] for rank in range(5)] == [
        ["SIGTERM", "SIGKILL"],
        ["SIGTERM"],
        [],
        ["SIGTERM", "SIGKILL"],
        ["SIGTERM"],
    ]
    stops = shim.of("stop")
    assert [(s["plan"], s["signal"]) for s in stops[:2]] == [("failure", "SIGTERM"), ("failure", "SIGKILL")]
    assert stops[0]["m"] - failure["m"] >= 0.3e9
    assert stops[1]["m"] - stops[0]["m"] >= 1.5e9


def test_a_peer_that_dies_by_itself_in_its_grace_has_no_sent(shim: ShimRun, gate: Gate) -> None:
    shim.start([gate.argv("exit 3"), gate.argv("sleep 0.2; exit 5"), SLEEP], limits={"grace": 1, "terminate": 10})
    shim.wait_for("spawn_done")
    gate.open()
    shim.wait_done()
    assert shim.ends() == {0: ("exited", 3), 1: ("exited", 5), 2: ("killed", "SIGTERM")}
    assert [shim.exit_of(rank)["sent"] for rank in range(3)] == [[], [], ["SIGTERM"]]
    assert [r["rank"] for r in shim.of("first_failure")] == [0]


def test_a_death_right_before_our_signal_is_not_ours(trials: Trials) -> None:
    """The rank dies at the moment at which its grace ends: `sent` must agree with what it died of."""
    for run, gate, rng in trials(6):
        run.start([gate.argv("exit 3"), gate.argv(f"sleep {rng.uniform(0.19, 0.21)}; exit 5")], limits={"grace": 0.2})
        run.wait_for("spawn_done")
        gate.open()
        run.wait_done()
        run.check()
        second = run.exit_of(1)
        assert (second["code"], second["signal"], second["sent"]) in ((5, None, []), (None, "SIGTERM", ["SIGTERM"]))


def test_a_hold_puts_the_end_off(shim: ShimRun, gate: Gate) -> None:
    shim.start([gate.argv("exit 3"), SLEEP], limits={"grace": 0.5, "teardown_grace": 60})
    shim.wait_for("spawn_done")
    shim.request("hold", seconds=60, why="too early: nothing has failed")
    wait_until(lambda: not list((shim.path / "control").glob("*.json")), what="the request's removal")
    gate.open()
    (failure,) = shim.wait_for("first_failure")
    shim.request("hold", seconds=1.5, why="saving")
    shim.request("hold", seconds=1.5, why="saving")
    shim.wait_done()
    (hold,) = shim.of("hold")
    assert hold["why"] == "saving"
    (stop,) = shim.of("stop")
    assert stop["m"] - failure["m"] > 1.4e9
    assert shim.exit_of(1)["sent"] == ["SIGTERM"]


def test_a_hold_lasts_at_most_the_teardown_grace(shim: ShimRun, gate: Gate) -> None:
    shim.start(
        [gate.argv("exit 3"), rank_argv("stubborn")], limits={"grace": 0.1, "teardown_grace": 0.8, "terminate": 1}
    )
    shim.wait_for("spawn_done")
    gate.open()
    (failure,) = shim.wait_for("first_failure")
    shim.request("hold", seconds=600, why="saving for ever")
    (stop,) = shim.wait_for("stop")
    assert 0.7e9 < stop["m"] - failure["m"] < 5e9
    shim.request("hold", seconds=600, why="too late")
    shim.wait_done()
    assert [r["why"] for r in shim.of("hold")] == ["saving for ever"]
    assert shim.ends()[1] == ("killed", "SIGKILL")


def test_a_hold_outlives_the_worker(shim: ShimRun, gate: Gate) -> None:
    """Renewals are on no record: the successor gives the monitor time to renew before it ends anybody."""
    shim.start([gate.argv("exit 3"), SLEEP], limits={"grace": 0.2, "teardown_grace": 600})
    shim.wait_for("spawn_done")
    gate.open()
    (failure,) = shim.wait_for("first_failure")
    worker = shim.worker
    shim.request("hold", seconds=0.5, why="saving")
    shim.wait_for("hold")
    while time.monotonic_ns() < failure["m"] + int(0.8e9):
        shim.request("hold", seconds=0.5, why="saving")
        wait_until(lambda: not list((shim.path / "control").glob("*.json")), what="the request's removal")
    kill(worker)
    shim.wait_for("takeover")
    shim.request("hold", seconds=0.3, why="saving")
    shim.wait_done()
    (stop,) = shim.of("stop")
    assert stop["m"] > shim.of("takeover")[0]["m"] + 0.2e9


def test_left_early_is_the_monitors_word(shim: ShimRun, gate: Gate) -> None:
    """It is believed for a rank that has ended, and its peers have had their grace."""
    shim.start([gate.argv("exit 0"), SLEEP], limits={"grace": 600})
    shim.wait_for("spawn_done")
    shim.request("fail", member="1", rank=1, why="lives")
    shim.request("fail", member="nobody", rank=9, why="is not there")
    shim.wait_for("request", count=2)
    gate.open()
    shim.wait_for("rusage")
    assert not shim.of("first_failure")
    shim.request("fail", member="0", rank=0, why="left early")
    shim.wait_done()
    (failure,) = shim.of("first_failure")
    assert (failure["rank"], failure["how"]) == (0, "left_early")
    assert shim.exit_of(1)["sent"] == ["SIGTERM"]
