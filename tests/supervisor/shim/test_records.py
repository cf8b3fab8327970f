"""The record itself: its order, one end for each start, and true endings when many come at once."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.gates import fates
from support.runs import rank_argv
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from pathlib import Path

    from support.gates import Gate
    from support.runs import ShimRun

_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int answer = real(id, t);
    FILE *file = id == CLOCK_REALTIME ? fopen(getenv("FAKE_CLOCK"), "r") : 0;
    long shift = 0;
    if (file) { if (fscanf(file, "%ld", &shift) != 1) shift = 0; fclose(file); }
    t->tv_sec += shift;
    return answer;
}
"""


def test_the_record_of_a_plain_run(shim: ShimRun) -> None:
    shim.start([rank_argv("exit0"), rank_argv("exit0")])
    kinds = [r["ev"] for r in shim.wait_done()]
    shim.check()
    assert kinds[:7] == ["header", "shim", "spawning", "spawned", "spawning", "spawned", "spawn_done"]
    assert kinds[-2:] == ["ranks_done", "done"]
    assert sorted(kinds[7:-2]) == ["exit", "exit", "rusage", "rusage"]
    assert all(r["max_rss_bytes"] < 64 << 20 for r in shim.of("rusage"))


def test_64_ranks_that_end_at_the_same_instant(shim: ShimRun, gate: Gate) -> None:
    shim.start(gate.fates(64), limits={"grace": 60})
    shim.wait_for("spawn_done")
    gate.open()
    shim.wait_done()
    shim.check()
    assert shim.ends() == fates(64)
    assert all(r["sent"] == [] for r in shim.of("exit"))


def test_a_rank_that_daemonises(shim: ShimRun) -> None:
    """It has exited with 0 and its streams are closed, but the run is not over: a process of it lives."""
    shim.start([rank_argv("daemonise")], limits={"leftover_grace": 600})
    (ranks_done,) = shim.wait_for("ranks_done")
    assert shim.ends() == {0: ("exited", 0)}
    (orphan,) = shim.wait_for("adopted")
    assert orphan["member"] == "0"
    assert orphan["marked"]
    assert orphan["pid"] in {left["pid"] for left in ranks_done["leftovers"]}
    assert not shim.of("done")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler to fake the wall clock")
def test_a_jump_of_the_wall_clock_changes_no_order(shim: ShimRun, gate: Gate, tmp_path: Path) -> None:
    shift, source, library = tmp_path / "shift", tmp_path / "clock.c", tmp_path / "clock.so"
    shift.write_text("0")
    source.write_text(_CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    prefix = ("env", f"LD_PRELOAD={library}", f"FAKE_CLOCK={shift}")
    shim.start([rank_argv("sleep"), *gate.fates(3)], limits={"grace": 0.3, "terminate": 5}, prefix=prefix)
    shim.wait_for("spawn_done")
    shift.write_text("-3600")
    gate.open()
    shim.wait_for("exit", count=3)
    shift.write_text("3600")
    shim.wait_done()
    shim.check()
    found = shim.of("exit")
    assert found[-1]["t"] - found[0]["t"] > 7000, "the clock did jump"
    assert [r["m"] for r in shim.records] == sorted(r["m"] for r in shim.records)
    assert shim.of("first_failure")[0]["rank"] in (2, 3)
    assert found[-1]["rank"] == 0
    assert found[-1]["sent"] == ["SIGTERM"]


@pytest.mark.usefixtures("never_reaps")
def test_pid_1_that_does_not_reap(shim: ShimRun) -> None:
    """A zombie that nobody reaps is no living process, and its status can still be had."""
    shim.start([rank_argv("exit3"), rank_argv("sleep")], limits={"grace": 600})
    (end,) = shim.wait_for("exit")
    shim.kill_both()
    sleeper = shim.pid(1)
    os.kill(sleeper, 9)
    wait_until(lambda: (found := procfs.stat(sleeper)) and found.state == "Z", what="the zombie")
    start = next(r["start"] for r in shim.of("spawned") if r["rank"] == 1)
    assert not procfs.is_alive(sleeper, start)
    assert not procfs.is_running(sleeper)
    assert procfs.zombie_status(sleeper, start) == 9
    assert not procfs.is_running(end["pid"])
