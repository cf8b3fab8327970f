"""Processes in states that are neither alive nor plainly dead: traced, without a main thread, unkillable."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.processes import wait_dead
from support.runs import kill
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.runs import ShimRun

SLEEP = ["/bin/sleep", "3600"]
_TRACER = """
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(0x4206, int(sys.argv[1]), 0, 0):  # PTRACE_SEIZE
    sys.exit(f"ptrace: errno {ctypes.get_errno()}")
print("seized", flush=True)
time.sleep(3600)  # a debugger that does not look: its zombie cannot be waited for
"""
_NO_MAIN_THREAD = """
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *rest(void *unused) {
    char byte;
    if (read(0, &byte, 1) >= 0) syscall(SYS_exit_group, 3);
    return 0;
}
int main(void) { pthread_t t; pthread_create(&t, 0, rest, 0); syscall(SYS_exit, 0); }
"""


@pytest.fixture
def traced(shim: ShimRun) -> Iterator[subprocess.Popen[str]]:
    """A run of two ranks, of which a debugger holds rank 0."""
    shim.start([SLEEP, SLEEP], limits={"interrupt": 0.2, "terminate": 0.2, "unkillable": 0.5, "grace": 600})
    shim.wait_for("spawn_done")
    command = [sys.executable, "-I", "-S", "-c", _TRACER, str(shim.pid(0))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tracer:
        assert tracer.stdout is not None
        if not tracer.stdout.readline():
            pytest.skip("not allowed to trace")
        yield tracer
        tracer.kill()


def test_a_zombie_in_the_hands_of_a_debugger(shim: ShimRun, traced: subprocess.Popen[str]) -> None:
    """Its pidfd says that it is dead, waitid does not: no reason to run in a circle, nor to make up a status."""
    pid = shim.pid(0)
    kill(pid)
    wait_dead(pid)
    kill(shim.pid(1))
    (other,) = shim.wait_for("exit")
    assert other["rank"] == 1
    before = procfs.stat(shim.worker)
    os.kill(shim.worker, signal.SIGUSR1)
    assert before is not None
    shim.request("hold", seconds=1, why="another round")
    shim.wait_for("hold")
    after = procfs.stat(shim.worker)
    assert after is not None
    assert after.cpu_ticks - before.cpu_ticks < 20
    assert len(shim.of("exit")) == 1
    traced.kill()
    shim.wait_done()
    shim.check()
    assert shim.ends() == {0: ("killed", "SIGKILL"), 1: ("killed", "SIGKILL")}


def test_what_cannot_be_killed_is_said(shim: ShimRun, traced: subprocess.Popen[str]) -> None:
    """As a process in an uninterruptible call: told once, and the record is not flooded."""
    shim.request("stop")
    (told,) = shim.wait_for("unkillable")
    assert told["pids"] == [shim.pid(0)]
    assert told["states"] == {str(shim.pid(0)): "Z"}
    assert len(shim.of("stop")) <= 4
    traced.kill()
    shim.wait_done()
    assert len(shim.of("unkillable")) == 1
    assert shim.exit_of(0)["sent"][0] == "SIGINT"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_a_process_without_its_main_thread_lives(tmp_path: Path) -> None:
    """It shows as a zombie with status 0, but other threads run on; its true status comes later."""
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(_NO_MAIN_THREAD)
    subprocess.run(["gcc", "-O", "-o", program, source, "-lpthread"], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE) as child:
        wait_until(lambda: (found := procfs.stat(child.pid)) and found.state == "Z")
        found = procfs.stat(child.pid)
        assert found is not None
        assert procfs.is_alive(child.pid, found.start)
        assert procfs.is_running(child.pid)
        assert procfs.zombie_status(child.pid, found.start) is None
        assert child.stdin is not None
        child.stdin.write(b"x")
        child.stdin.flush()
        wait_dead(child.pid)
        assert procfs.zombie_status(child.pid, found.start) == 3 << 8
        assert child.wait() == 3


def test_a_process_that_cannot_be_looked_at_is_not_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a free descriptor nothing of /proc can be read: that must not end a run's members."""
    monkeypatch.setattr(procfs, "_read", lambda *_: None)
    assert procfs.is_alive(os.getpid(), 1)
    for impossible in (-1, 0, 1 << 40):
        assert not procfs.is_alive(impossible, 1)


def test_children_without_the_kernels_list_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    real = procfs._read
    monkeypatch.setattr(
        procfs, "_read", lambda path, limit=1 << 20: None if path.endswith("/children") else real(path, limit)
    )
    with subprocess.Popen(SLEEP) as child:
        assert child.pid in procfs.children(os.getpid())
        child.kill()


def test_a_start_time_can_be_told_from_the_monotonic_clock() -> None:
    before = procfs.start_ticks(time.monotonic_ns())
    with subprocess.Popen(SLEEP) as child:
        found = procfs.stat(child.pid)
        child.kill()
    assert found is not None
    assert before - 1 <= found.start <= procfs.start_ticks(time.monotonic_ns()) + 1
