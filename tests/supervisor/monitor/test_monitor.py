"""The monitor: gaps are said, peers that save are spared, and it alone sees ends when no shim is left."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.runs import kill
from support.waiting import wait_until

from grpotui_supervisor.monitor import loop
from grpotui_supervisor.probes.kernel import can_see_foreign_exits
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from support.runs import Home


def monitor_pid(home: Home, run: str) -> int:
    found = wait_until(lambda: [r for r in home.records(run, "timeline") if r["ev"] == "monitor"], what="a monitor")
    return int(found[-1]["pid"])


def shim_pids(home: Home, run: str) -> tuple[int, int]:
    record = wait_until(lambda: [r for r in home.records(run) if r["ev"] == "shim"], what="a shim")[-1]
    return record["guard"], record["worker"]


def kill_shim(home: Home, run: str) -> None:
    """Both at once: the guard is stopped first, so that it cannot take over."""
    guard, worker = shim_pids(home, run)
    os.kill(guard, signal.SIGSTOP)
    kill(worker)
    kill(guard)
    wait_until(lambda: not procfs.is_running(guard) and not procfs.is_running(worker), what="the shim's death")


def member(document: dict[str, Any], rank: int) -> dict[str, Any]:
    return next(m for m in document["ranks"] if m["rank"] == rank)


def test_a_killed_monitor_is_replaced_and_the_gap_is_said(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep", "sleep"))
    first = monitor_pid(home, run)
    kill(first)
    wait_until(lambda: home.status(run)["monitor"]["gaps"], what="the gap")
    assert monitor_pid(home, run) != first
    assert [m["state"] for m in home.status(run)["ranks"]] == ["running", "running"]
    assert "no monitor ran for" in home.run("status", run).stdout


def test_a_second_monitor_ends_at_once(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep"))
    first = monitor_pid(home, run)
    loop.run(RunDirectory(str(home.directory(run))))  # returns at once: this process gets no lock
    assert procfs.is_running(first)
    assert [r["pid"] for r in home.records(run, "timeline") if r["ev"] == "monitor"] == [first]


def test_a_peer_that_still_writes_is_spared(home: Home, tmp_path: object) -> None:
    modes = ("exit3", f"write {tmp_path}/checkpoint")
    run = home.launch(home.ranks_profile(*modes, launch="teardown_grace_seconds = 4.0", grace=1.5))
    wait_until(lambda: [r for r in home.records(run) if r["ev"] == "hold"], what="a hold")
    document = home.wait_for_state(run, "ended", seconds=30)
    assert (document["first_failure"]["rank"], document["first_failure"]["code"]) == (0, 3)
    end = member(document, 1)
    assert (end["signal"], end["sent"]) == ("SIGKILL", ["SIGTERM", "SIGKILL"])
    exits = {r["rank"]: r["m"] for r in home.records(run) if r["ev"] == "exit"}
    assert exits[1] - exits[0] > 3.5e9  # grace alone would have been 1.5 s


def test_a_hanging_peer_is_not_spared(home: Home) -> None:
    run = home.launch(home.ranks_profile("segv", "stubborn"))
    document = home.wait_for_state(run, "ended")
    assert not [r for r in home.records(run) if r["ev"] == "hold"]
    assert member(document, 1)["sent"] == ["SIGTERM", "SIGKILL"]


def test_without_a_shim_the_run_is_unsupervised_and_its_ends_are_true_or_lost(home: Home) -> None:
    end = time.monotonic() + 2.5
    run = home.launch(home.ranks_profile(f"exit3 {end}", f"segv {end}", "stubborn"))
    monitor_pid(home, run)
    kill_shim(home, run)
    document = home.wait_for_state(run, "unsupervised")
    assert document["verdict"] is None
    assert {m["state"] for m in document["ranks"]} <= {"running", "exited", "killed"}

    def two_ended() -> list[dict[str, Any]] | None:
        ranks = home.status(run)["ranks"][:2]
        return ranks if all(m["state"] != "running" for m in ranks) else None

    first, second = wait_until(two_ended, seconds=20, what="two ends")
    assert first.get("code") == 3 or first["state"] == "lost"
    assert second.get("signal") == "SIGSEGV" or second["state"] == "lost"
    if can_see_foreign_exits():
        assert (first["state"], second["state"]) == ("exited", "killed")
    assert home.run("stop", run, timeout=60).returncode == 0
    last = home.status(run)
    assert last["state"] == "ended"
    assert member(last, 2)["signal"] == "SIGKILL" or member(last, 2)["state"] == "lost"
    assert last["verdict"] in ("failed", "stopped", "unknown")


def test_left_early_ends_the_peers_and_fails_the_run(home: Home) -> None:
    code = (
        "import os,sys,time\n"
        "if os.environ['RANK']=='1': sys.exit(0)\n"
        "print('Total training steps: 9',flush=True); print('step:1 - actor/loss:0.1',flush=True)\n"
        "time.sleep(600)\n"
    )
    script = home.profile(code, "early.py")
    profile = home.profile(
        'name = "early"\nframework = "verl"\n[launch]\nmode = "ranks"\nnproc = 2\ngrace_seconds = 0.6\n'
        f'argv = ["{{grpotui_python}}", "-I", "{script}"]\n'
    )
    done = home.run("launch", profile)
    assert done.returncode == 1
    assert "left early" in done.stderr
    document = home.status()
    assert (document["first_failure"]["rank"], document["first_failure"]["how"]) == (1, "left_early")
    assert [f["id"] for f in document["findings"]] == ["left_early"]
    assert member(document, 0)["sent"] == ["SIGTERM"]


@pytest.mark.parametrize(
    ("change", "state", "reason"),
    [
        ({"boot": "another"}, "lost", "host was rebooted"),
        ({"pidns": "pid:[1]"}, "lost", "pid namespace is gone"),
        ({"boot": "another", "hostname": "elsewhere"}, "running", ""),
    ],
)
def test_seen_from_another_boot_namespace_or_host(home: Home, change: dict[str, str], state: str, reason: str) -> None:
    run = home.launch(home.ranks_profile("sleep"))
    monitor = monitor_pid(home, run)
    pid = home.status(run)["ranks"][0]["pid"]
    kill(monitor)
    kill_shim(home, run)
    facts = home.directory(run) / "run.json"
    document = json.loads(facts.read_text())
    document["host"].update(change)
    facts.write_text(json.dumps(document))
    shown = home.status(run)
    assert shown["ranks"][0]["state"] == state
    assert reason in (shown["ranks"][0].get("reason") or "")
    assert shown["verdict"] in (None, "unknown")
    assert not shown["supervision"]["can_control"]
    assert procfs.is_running(pid)
