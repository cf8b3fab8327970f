"""`stop`: which run it means, how it reports, and that it never says more than happened."""

from __future__ import annotations

import json
import os
import shutil
import signal
from typing import TYPE_CHECKING

import pytest
from support.commands import of_home, refused
from support.mounts import tmpfs
from support.runs import Home, kill
from support.schemas import check_lines
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_without_a_name_the_only_live_run_is_meant(home: Home) -> None:
    ended = home.launch(home.ranks_profile("exit0"))
    home.wait_for_state(ended, "ended")
    run = home.launch(home.ranks_profile("sleep", "stubborn"))
    home.wait_for_state(run, "running")
    done = home.run("stop")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "SIGINT sent (stop: grpotui stop)",
        "rank 0 killed by SIGINT (grpotui had sent SIGINT)",
        "SIGTERM sent (stop: grpotui stop)",
        "SIGKILL sent (stop: grpotui stop)",
        "rank 1 killed by SIGKILL (grpotui had sent SIGINT, SIGTERM, SIGKILL)",
        "stopped: a stop was asked for, and no rank had failed before",
    ]
    assert home.status(run)["verdict"] == "stopped"
    wait_until(lambda: not of_home(home), what="an end of everything")
    refused(home.run("stop", run), 2, f"{run} has ended already", f"grpotui status {run}")
    refused(home.run("stop"), 2, "no run is live", "grpotui runs")


def test_several_live_runs_are_listed_and_none_is_harmed(home: Home) -> None:
    runs = [home.launch(home.ranks_profile("sleep")) for _ in range(2)]
    refused(home.run("stop"), 2, "2 runs are live", *runs, "name one")
    for run in runs:
        assert home.status(run)["state"] == "running"
        assert not [r for r in home.records(run) if r["ev"] == "request"]
    assert home.run("stop", runs[0], "--now").returncode == 0
    assert home.status(runs[1])["state"] == "running"


def test_now_kills_at_once(home: Home) -> None:
    run = home.launch(home.ranks_profile("stubborn", "stubborn"))
    done = home.run("stop", run, "--now", "--json")
    lines = check_lines("stream", done.stdout.splitlines())
    assert [line["signal"] for line in lines if line["ev"] == "signal"] == ["SIGKILL"]
    assert (lines[-1]["ev"], lines[-1]["exit_code"], lines[-1]["code_from"]) == ("end", 0, "grpotui")
    assert {m["signal"] for m in home.status(run)["ranks"]} == {"SIGKILL"}


def test_a_stop_ends_grandchildren_too(home: Home) -> None:
    run = home.launch(home.ranks_profile("tree", "orphan-stubborn"))
    wait_until(lambda: [r for r in home.records(run) if r["ev"] == "adopted"], what="an orphan")
    assert home.run("stop", run).returncode == 0
    wait_until(lambda: not of_home(home), what="an end of everything")


def test_control_c_stops_waiting_and_not_the_stop(home: Home) -> None:
    run = home.launch(home.ranks_profile("stubborn", launch="", grace=0.5), "--set", "launch.interrupt_seconds=1")
    client = home.start("stop", run)
    wait_until(lambda: [r for r in home.records(run) if r["ev"] == "stop"], what="the first signal")
    client.send_signal(signal.SIGINT)
    _, err = client.communicate(timeout=20)
    assert client.returncode == 130
    assert "the stop goes on" in err
    assert home.wait_for_state(run, "ended")["verdict"] == "stopped"


def test_a_copy_controls_nothing(home: Home, tmp_path: Path) -> None:
    run = home.launch(home.ranks_profile("sleep"))
    copy = tmp_path / "copied" / run
    shutil.copytree(home.directory(run), copy)
    (copy / "shim.lock").unlink()
    refused(home.run("stop", str(copy)), 2, f"{copy} is a copy", str(home.directory(run)))
    assert "a copy of its directory" in home.run("status", str(copy)).stdout
    assert home.status(run)["state"] == "running"


def test_a_run_without_a_shim_is_stopped_by_a_new_one(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep", "stubborn"))
    shim = next(r for r in home.records(run) if r["ev"] == "shim")
    os.kill(shim["guard"], signal.SIGSTOP)  # so that it cannot take over
    kill(shim["worker"])
    kill(shim["guard"])
    home.wait_for_state(run, "unsupervised")
    text = home.run("status", run).stdout
    assert "nobody owns its processes" in text
    assert "grpotui stop" in text
    done = home.run("stop")
    assert done.returncode == 0, done.stderr
    assert home.status(run)["state"] == "ended"
    wait_until(lambda: not of_home(home), what="an end of everything")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Home]:
    """A state root on a file system of 1 MiB."""
    with tmpfs(tmp_path / "small", "size=1m") as point:
        found = Home(point / "home")
        yield found
        found.clean()


def fill(home: Home, run: str) -> Path:
    """Takes the last byte of the file system, also those that the record's last page has left."""
    record = home.directory(run) / "ranks.jsonl"
    with record.open("ab", buffering=0) as file:
        file.write(b" " * (-record.stat().st_size % 4096))
    filler = home.path.parent / "filler"
    with filler.open("wb", buffering=0) as file:
        while os.statvfs(home.path).f_bavail:
            file.write(b"x" * 4096)
    return filler


def test_a_stop_on_a_full_disk_ends_the_job_and_says_what_is_missing(small: Home, home: Home) -> None:
    run = small.launch(home.ranks_profile("sleep", "stubborn"))
    ranks = [(m["pid"], m["state"]) for m in small.wait_for_state(run, "running")["ranks"]]
    filler = fill(small, run)
    follower = small.start("attach", run, "--json")
    done = small.run("stop", run)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "no process of the run is alive, but" in done.stderr
    assert "is the disk full?" in done.stderr
    assert not [pid for pid, _ in ranks if procfs.is_running(pid)]
    assert small.status(run)["state"] == "running"  # as recorded, and the record could not be written
    filler.unlink()
    document = small.wait_for_state(run, "ended")
    assert document["verdict"] == "stopped"
    assert [m["signal"] for m in document["ranks"]] == ["SIGINT", "SIGKILL"]
    out, _ = follower.communicate(timeout=20)
    assert json.loads(out.splitlines()[-1])["exit_code"] == 130
    wait_until(lambda: not of_home(small), what="an end of everything")
