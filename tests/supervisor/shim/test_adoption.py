"""Both shim processes killed: the ranks live on, and a shim in adopt mode finds out what is true of each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.gates import fates
from support.processes import freeze, reap, signals_of, wait_dead
from support.runs import kill, rank_argv
from support.waiting import wait_until

from grpotui_supervisor.shim import pidfd, procfs

if TYPE_CHECKING:
    from support.gates import Gate
    from support.runs import ShimRun

SLEEP = ["/bin/sleep", "3600"]
SHORT = {"interrupt": 1.5, "terminate": 1.5}
_LAST_PID = "/proc/sys/kernel/ns_last_pid"


def test_survivors_are_adopted_and_stopped(shim: ShimRun) -> None:
    """INT, TERM, KILL, as if nothing had happened; what they leave behind is found by its mark."""
    only_term = ["/bin/sh", "-c", 'trap "" INT; exec sleep 3600']
    shim.start([SLEEP, only_term, rank_argv("stubborn"), rank_argv("orphan")])
    orphan = shim.wait_for("adopted")[-1]["pid"]
    wait_until(lambda: signal.SIGINT in signals_of(shim.pid(1), "SigIgn"))
    wait_until(lambda: signal.SIGTERM in signals_of(shim.pid(2), "SigIgn"))
    shim.wait_for("exit")
    shim.kill_both()
    assert all(procfs.is_running(shim.pid(rank)) for rank in range(3)), "they need no shim to live"
    shim.adopt(limits=SHORT)
    shim.request("stop")
    shim.wait_done()
    shim.check()
    sent = {r["rank"]: r["sent"] for r in shim.of("exit", "lost")}
    assert sent == {0: ["SIGINT"], 1: ["SIGINT", "SIGTERM"], 2: ["SIGINT", "SIGTERM", "SIGKILL"], 3: []}
    names = {0: "SIGINT", 1: "SIGTERM", 2: "SIGKILL"}
    assert all(r["signal"] == names[r["rank"]] for r in shim.of("exit") if r["rank"] in names)
    assert not procfs.is_running(orphan)
    assert not shim.of("first_failure")


@pytest.mark.usefixtures("never_reaps")
def test_zombies_tell_their_status(shim: ShimRun, gate: Gate) -> None:
    shim.start(gate.fates(), limits={"grace": 600})
    shim.wait_for("spawn_done")
    shim.kill_both()
    gate.open()
    wait_dead(*(shim.pid(rank) for rank in range(6)))
    shim.adopt(limits={"grace": 600})
    shim.wait_done()
    shim.check()
    assert shim.ends() == fates()
    assert len(shim.of("first_failure")) == 1


@pytest.mark.usefixtures("never_reaps")
def test_a_pidfd_tells_the_status_after_the_reaping(shim: ShimRun, gate: Gate) -> None:
    shim.start(gate.fates(), limits={"grace": 600})
    shim.wait_for("spawn_done")
    shim.kill_both()
    shim.adopt(limits={"grace": 600})
    shim.request("nothing")
    shim.wait_for("request")  # it has come to its loop, and holds pidfds of all ranks
    freeze(shim.worker)
    gate.open()
    wait_dead(*(shim.pid(rank) for rank in range(6)))
    reap()
    os.kill(shim.worker, signal.SIGCONT)
    shim.wait_done()
    shim.check()
    if _has_exit_info():
        assert shim.ends() == fates()
    else:
        assert len(shim.of("lost")) == 6


def _has_exit_info() -> bool:
    child = subprocess.Popen(["/bin/true"])
    fd = os.pidfd_open(child.pid)
    child.wait()
    try:
        return pidfd.exit_status(fd) is not None
    finally:
        os.close(fd)


@pytest.mark.usefixtures("never_reaps")
def test_what_nobody_saw_is_lost_and_no_success(shim: ShimRun, gate: Gate) -> None:
    shim.start([gate.argv("exit 0"), gate.argv("exit 3"), SLEEP], limits={"grace": 600})
    shim.wait_for("spawn_done")
    shim.kill_both()
    gate.open()
    wait_dead(shim.pid(0), shim.pid(1))
    reap()
    shim.adopt(limits=SHORT)
    shim.wait_for("lost", count=2)
    shim.request("stop")
    shim.wait_done()
    shim.check()
    assert {r["rank"]: r["ev"] for r in shim.of("exit", "lost")} == {0: "lost", 1: "lost", 2: "exit"}
    assert all("code" not in r for r in shim.of("lost"))


@pytest.mark.usefixtures("never_reaps")
@pytest.mark.skipif(not os.access(_LAST_PID, os.W_OK), reason=f"cannot choose the next pid: {_LAST_PID}")
def test_a_reused_pid_is_left_alone(shim: ShimRun) -> None:
    shim.start([SLEEP, SLEEP])
    shim.wait_for("spawn_done")
    shim.kill_both()
    pid = shim.pid(0)
    kill(pid)
    wait_dead(pid)
    reap()
    innocent = _take(pid)
    try:
        shim.adopt(limits=SHORT)
        shim.request("kill")
        shim.wait_done()
        shim.check()
        assert innocent.poll() is None
        assert [r["rank"] for r in shim.of("lost")] == [0]
        assert [r["rank"] for r in shim.of("exit")] == [1]
    finally:
        innocent.kill()
        innocent.wait()


def _take(pid: int) -> subprocess.Popen[bytes]:
    """A process with that pid; others of this machine may take it first, so it is tried again."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with open(_LAST_PID, "w", encoding="ascii") as file:
            file.write(str(pid - 1))
        found = subprocess.Popen(SLEEP)
        if found.pid == pid:
            return found
        found.kill()
        found.wait()
    pytest.skip("the pid was never free")


def test_a_doctored_start_time_is_another_process(shim: ShimRun) -> None:
    """The same without a kernel that lets us choose a pid: the record says another start time than the process has."""
    with subprocess.Popen(SLEEP) as innocent:
        found = procfs.stat(innocent.pid)
        assert found is not None
        _write(shim, _spawned("0", innocent.pid, found.start - 1))
        shim.adopt(limits=SHORT)
        shim.request("kill")
        shim.wait_done()
        assert innocent.poll() is None
        assert [r["member"] for r in shim.of("lost")] == ["0"]
        innocent.kill()


@pytest.mark.parametrize("place", [{"boot": "an older boot"}, {"pidns": "pid:[1]"}])
def test_pids_of_another_boot_are_not_believed(shim: ShimRun, place: dict[str, str]) -> None:
    """After a reboot, or in another container, pid and start time may be those of anybody."""
    with subprocess.Popen(SLEEP) as innocent:
        found = procfs.stat(innocent.pid)
        assert found is not None
        _write(
            shim,
            _spawned("0", innocent.pid, found.start),
            {"ev": "adopted", "pid": 1, "start": 1, "name": "x"},
            **place,
        )
        shim.adopt(limits=SHORT)
        shim.request("kill")
        shim.wait_done()
        assert innocent.poll() is None
        (lost,) = shim.of("lost")
        assert "rebooted" in lost["reason"]
        innocent.kill()


def _spawned(member: str, pid: int, start: int) -> dict[str, Any]:
    place = {"member": member, "rank": int(member), "role": "rank"}
    return {"ev": "spawned", **place, "pid": pid, "start": start, "owned": True}


def _write(shim: ShimRun, *more: dict[str, Any], **place: str) -> None:
    """A record as a dead shim would have left it."""
    for folder in ("control", "ranks"):
        (shim.path / folder).mkdir(parents=True)
    header = {"ev": "header", "schema": 1, "boot": procfs.boot_id(), "pidns": procfs.pid_namespace(), **place}
    lines = [header, *more, {"ev": "spawn_done", "not_started": []}]
    text = "".join(json.dumps({"t": 0.0, "m": n, "seq": n, **line}) + "\n" for n, line in enumerate(lines, 1))
    (shim.path / "ranks.jsonl").write_text(text)


def test_a_start_that_was_cut_short(shim: ShimRun) -> None:
    """Begun but not on record: found by both its marks, or lost; what was never begun is said to be so."""
    _write_cut_short(shim)
    env = {**os.environ, procfs.RUN_MARK: shim.run, procfs.MEMBER_MARK: "1"}
    with subprocess.Popen(SLEEP, env=env, start_new_session=True) as rank:
        wait_until(lambda: rank.pid in procfs.marked(shim.run))
        shim.adopt(limits=SHORT)
        shim.wait_for("spawn_done")
        assert [(r["member"], r["pid"]) for r in shim.of("spawned")] == [("1", rank.pid)]
        assert [(r["member"], r["pid"]) for r in shim.of("lost")] == [("0", None)]
        assert shim.of("spawn_done")[0]["not_started"] == ["2", "3"]
        shim.request("stop")
        assert rank.wait(10) == -signal.SIGINT
        shim.wait_done()
    shim.kill_both()
    shim.adopt()
    shim.wait_done()
    assert len(shim.of("lost")) == 1, "what was found out once is not found out again"


def _write_cut_short(shim: ShimRun) -> None:
    starts = [{"member": str(rank), "rank": rank, "role": "rank"} for rank in range(4)]
    begun = [{"ev": "spawning", **start} for start in starts[:2]]
    _write(shim, {"ev": "shim", "worker": 0, "starts": starts}, *begun)
    text = (shim.path / "ranks.jsonl").read_text().splitlines(keepends=True)
    (shim.path / "ranks.jsonl").write_text("".join(text[:-1]))
