"""What the shim inherits from an unknown launcher, and a second shim on the same directory."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from support.gates import fates
from support.processes import signals_of
from support.runs import SHIM, ShimRun
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from support.gates import Gate

SLEEP = ["/bin/sleep", "3600"]
_HOSTILE = """
import os, signal, sys
for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execv(sys.argv[1], sys.argv[1:])
"""
_RESERVED = {32, 33}
"""Signals of the C library, which posix_spawn cannot reset."""


def test_a_hostile_launcher(shim: ShimRun, gate: Gate) -> None:
    """A Ray worker ignores SIGCHLD; others block or ignore INT and TERM. Ranks must not see it, nor statuses suffer."""
    argvs = [*gate.fates(), SLEEP]
    shim.start(argvs, prefix=(sys.executable, "-I", "-S", "-c", _HOSTILE), limits={"grace": 600})
    shim.wait_for("spawn_done")
    for line in ("SigBlk", "SigIgn"):
        assert signals_of(shim.pid(6), line) <= _RESERVED
    gate.open()
    shim.wait_for("exit", count=6)
    shim.request("stop")
    shim.wait_done()
    shim.check()
    assert shim.ends() == {**fates(), 6: ("killed", "SIGINT")}


def test_ranks_have_a_session_and_streams_of_their_own(shim: ShimRun) -> None:
    shim.start([SLEEP])
    shim.wait_for("spawn_done")
    pid = shim.pid(0)
    found = procfs.stat(pid)
    assert found is not None
    assert found.sid == found.pgid == pid
    wait_until(lambda: os.readlink(f"/proc/{pid}/exe").endswith("sleep"))
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{pid}/fd/1") == str(shim.path / "ranks/0/stdout.log")
    assert os.readlink(f"/proc/{pid}/fd/2") == str(shim.path / "ranks/0/stderr.log")
    assert set(os.listdir(f"/proc/{pid}/fd")) == {"0", "1", "2"}, "nothing of the shim leaks into a rank"


def test_the_shim_leaves_its_launcher(shim: ShimRun) -> None:
    """Own session, no child of the launcher, nothing of it kept open, no directory kept busy."""
    shim.start([SLEEP])
    shim.wait_for("spawn_done")
    for pid in (shim.worker, shim.guard):
        found = procfs.stat(pid)
        assert found is not None
        assert found.sid == shim.guard
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1)] == ["/dev/null"] * 2
    assert shim.started is not None
    assert shim.started.wait(10) == 0
    stat = procfs.stat(shim.guard)
    assert stat is not None
    assert stat.ppid != os.getpid()


def test_a_second_shim_is_refused(shim: ShimRun) -> None:
    shim.start([SLEEP])
    shim.wait_for("spawn_done")
    before, first = shim.records, shim.started
    shim.start([SLEEP])
    wait_until(lambda: "another shim owns this run" in (shim.path / "shim.err").read_text(), what="the refusal")
    assert shim.records == before
    assert len(procfs.marked(shim.run)) == 1
    assert first is not None


def test_a_reader_that_asks_for_the_lock_is_no_owner(shim: ShimRun) -> None:
    """`status` holds the lock, shared, for a moment; a shim that starts then must wait for it."""
    shim.path.mkdir()
    fd = os.open(shim.path / "shim.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_SH)
    try:
        timer = threading.Timer(0.1, fcntl.flock, (fd, fcntl.LOCK_UN))
        timer.start()
        shim.start([SLEEP])
        shim.wait_for("spawn_done")
        timer.join()
    finally:
        os.close(fd)


def test_the_lock_is_free_when_both_have_ended(shim: ShimRun) -> None:
    """Ranks must not inherit it: the lock says whether a shim lives, not whether a rank does."""
    shim.start([SLEEP])
    shim.wait_for("spawn_done")
    shim.kill_both()
    with (shim.path / "shim.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert procfs.is_running(shim.pid(0))


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"123", b'{"run": "x"}', b"\xff\xfe"])
def test_a_bad_specification_starts_nothing(shim: ShimRun, text: bytes) -> None:
    shim.path.mkdir()
    done = subprocess.run(
        [sys.executable, "-I", "-S", SHIM, str(shim.path)], input=text, capture_output=True, timeout=20, check=False
    )
    assert done.returncode != 0
    assert done.stderr
    assert not (shim.path / "ranks.jsonl").exists()


def test_signals_while_the_shim_starts_are_requests(shim: ShimRun) -> None:
    """There is no moment at which a stop ends a shim process instead of the run."""
    for number in range(8):
        run = ShimRun(shim.path / str(number), run=f"{shim.run}-{number}")
        try:
            run.start([SLEEP] * 2, limits={"interrupt": 20})
            deadline = time.monotonic() + 20
            while not run.shim_pids() and time.monotonic() < deadline:
                pass
            for pid in run.shim_pids():
                os.kill(pid, signal.SIGTERM)
            run.wait_done()
            run.check()
            assert not run.of("takeover", "guard_lost")
            assert set(run.ends().values()) <= {("killed", "SIGINT")}
        finally:
            run.clean()
