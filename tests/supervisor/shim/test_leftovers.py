"""What outlives the ranks, and the companions that live beside them."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from support.processes import signals_of
from support.runs import kill, rank_argv
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from support.gates import Gate
    from support.runs import ShimRun

SLEEP = ["/bin/sleep", "3600"]


def test_leftovers_are_stopped_after_their_grace(shim: ShimRun) -> None:
    shim.start([rank_argv("orphan")], limits={"leftover_grace": 0.4, "terminate": 10})
    shim.wait_done()
    shim.check()
    (done,) = shim.of("ranks_done")
    (stop,) = shim.of("stop")
    assert (stop["plan"], stop["signal"]) == ("leftovers", "SIGTERM")
    assert stop["m"] - done["m"] >= 0.35e9
    assert [left["pid"] for left in done["leftovers"]] == stop["orphans"]
    (end,) = [r for r in shim.of("orphan_exit") if r["pid"] in stop["orphans"]]
    assert (end["signal"], end["sent"]) == ("SIGTERM", ["SIGTERM"])


def test_stubborn_leftovers_are_killed(shim: ShimRun) -> None:
    shim.start([rank_argv("orphan-stubborn")], limits={"leftover_grace": 0.3, "terminate": 0.3})
    orphan = shim.wait_for("adopted")[-1]["pid"]
    wait_until(lambda: not procfs.is_running(orphan) or signal.SIGTERM in signals_of(orphan, "SigIgn"))
    shim.wait_done()
    assert shim.of("orphan_exit")[-1]["sent"] in (["SIGTERM", "SIGKILL"], ["SIGTERM"])
    assert not procfs.is_running(orphan)


def test_leftovers_can_be_kept(shim: ShimRun) -> None:
    shim.start([rank_argv("orphan")], limits={"leftover_grace": 0.1, "leftovers": "keep"})
    (kept,) = shim.wait_for("leftovers")
    (left,) = kept["processes"]
    assert kept["policy"] == "keep"
    assert procfs.is_running(left["pid"])
    kill(shim.worker)
    shim.wait_for("takeover")
    assert procfs.is_running(left["pid"])
    shim.request("leftovers", why="now they may go")
    shim.wait_done()
    assert shim.of("orphan_exit")[-1]["sent"] == ["SIGTERM"]
    assert len(shim.of("leftovers")) == 1


def test_a_leftover_may_end_by_itself(shim: ShimRun) -> None:
    """A process of the run that ends in time was no fault; its own code is on record."""
    script = "setsid sh -c 'sleep 0.2; exit 7' & sleep 0.1; exit 0"
    shim.start([["/bin/sh", "-c", script]], limits={"leftover_grace": 60})
    shim.wait_done()
    assert [r["code"] for r in shim.of("orphan_exit")] == [7]
    assert not shim.of("stop")


def test_many_orphans(shim: ShimRun) -> None:
    """Bounded in memory and time, and none is forgotten."""
    script = "i=0; while [ $i -lt 400 ]; do setsid sleep 3600 & i=$((i+1)); done; exit 0"
    shim.start([["/bin/sh", "-c", script]], limits={"leftover_grace": 600, "interrupt": 60})
    wait_until(lambda: len(shim.of("adopted")) == 400, seconds=60, what="400 orphans")
    shim.request("kill")
    shim.wait_done(60)
    assert len(shim.of("orphan_exit")) == 400
    assert len(shim.of("stop")) < 20


def companion(shim: ShimRun, argv: list[str], *ranks: list[str], **specification: Any) -> ShimRun:
    """A run with a companion beside its ranks."""
    starts = [
        {
            "member": member,
            "rank": rank,
            "role": role,
            "argv": words,
            "cwd": "/",
            "env": {procfs.RUN_MARK: shim.run, procfs.MEMBER_MARK: member},
        }
        for member, rank, role, words in [
            ("judge", None, "companion", argv),
            *[(str(rank), rank, "rank", words) for rank, words in enumerate(ranks)],
        ]
    ]
    return shim.start([], starts=starts, **specification)


def test_a_companion_is_started_first_and_ended_last(shim: ShimRun, gate: Gate) -> None:
    companion(shim, SLEEP, gate.argv("exit 0"), gate.argv("exit 0"), limits={"terminate": 10})
    shim.wait_for("spawn_done")
    assert [r["member"] for r in shim.of("spawned")] == ["judge", "0", "1"]
    gate.open()
    shim.wait_done()
    shim.check()
    ends = shim.of("exit")
    assert [r["member"] for r in ends][-1] == "judge"
    assert (ends[-1]["signal"], ends[-1]["sent"]) == ("SIGTERM", ["SIGTERM"])
    assert shim.of("ranks_done")[0]["leftovers"] == []
    assert not shim.of("first_failure")


def test_a_companions_death_fails_nothing(shim: ShimRun, gate: Gate) -> None:
    companion(shim, ["/bin/sh", "-c", "exit 9"], gate.argv("exit 0"), limits={"grace": 0})
    shim.wait_for("exit")
    gate.open()
    shim.wait_done()
    assert [(r["member"], r["code"]) for r in shim.of("exit")] == [("judge", 9), ("0", 0)]
    assert not shim.of("first_failure", "stop")


def test_a_companion_that_cannot_start_prevents_the_ranks(shim: ShimRun) -> None:
    companion(shim, ["/nowhere/judge"], SLEEP)
    shim.wait_done()
    assert [r["member"] for r in shim.of("spawn_failed")] == ["judge"]
    assert shim.of("spawn_done")[0]["not_started"] == ["0"]
    assert not shim.of("spawned")
    assert shim.of("first_failure")[0]["member"] == "judge"


@pytest.mark.parametrize("what", ["stop", "kill"])
def test_a_stop_ends_companions_too(shim: ShimRun, what: str) -> None:
    companion(shim, SLEEP, SLEEP, limits={"interrupt": 60, "terminate": 60})
    shim.wait_for("spawn_done")
    shim.request(what)
    shim.wait_done()
    signal_name = {"stop": "SIGINT", "kill": "SIGKILL"}[what]
    assert all((r["signal"], r["sent"]) == (signal_name, [signal_name]) for r in shim.of("exit"))
    if what == "stop":
        assert [r["member"] for r in shim.of("exit")] == ["0", "judge"]


def test_leftovers_asked_for_while_a_companion_hangs(shim: ShimRun, gate: Gate) -> None:
    companion(shim, rank_argv("stubborn"), gate.argv("exit 0"), limits={"terminate": 0.5})
    shim.wait_for("spawn_done")
    pid = next(r["pid"] for r in shim.of("spawned") if r["member"] == "judge")
    wait_until(lambda: signal.SIGTERM in signals_of(pid, "SigIgn"))
    gate.open()
    shim.wait_for("stop")
    shim.request("leftovers")
    shim.wait_done()
    assert shim.of("exit")[-1]["signal"] == "SIGKILL"


def test_a_failed_rank_leaves_the_companion_to_the_end(shim: ShimRun) -> None:
    hung = ["/bin/sh", "-c", 'trap "" INT; exec sleep 3600']
    companion(shim, SLEEP, rank_argv("exit3"), hung, limits={"grace": 0.2, "terminate": 20})
    shim.wait_done()
    shim.check()
    assert [r["member"] for r in shim.of("exit")] == ["0", "1", "judge"]
    assert [(r["plan"], r["members"]) for r in shim.of("stop")] == [("failure", ["1"]), ("companions", ["judge"])]


def test_companions_are_ended_by_the_successor(shim: ShimRun, gate: Gate) -> None:
    companion(shim, rank_argv("stubborn"), gate.argv("exit 0"), limits={"terminate": 0.3})
    shim.wait_for("spawn_done")
    pid = next(r["pid"] for r in shim.of("spawned") if r["member"] == "judge")
    wait_until(lambda: signal.SIGTERM in signals_of(pid, "SigIgn"))
    worker = shim.worker
    gate.open()
    shim.wait_for("stop")
    kill(worker)
    shim.wait_done()
    shim.check()
    assert shim.of("exit")[-1]["sent"][-1] == "SIGKILL"
