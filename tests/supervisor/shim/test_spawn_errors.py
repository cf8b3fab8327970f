"""Starts that fail: the errno is on record, and the group is not left half started."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support.runs import ShimRun

from grpotui_supervisor.shim import procfs

SLEEP = ["/bin/sleep", "3600"]
_USER = 64_123


def start(shim: ShimRun, argv: Any, **more: Any) -> dict[str, Any]:
    """A group of which rank 1 is to be started so; returns its `spawn_failed`."""
    starts = [
        {
            "member": str(rank),
            "rank": rank,
            "role": "rank",
            "argv": SLEEP,
            "cwd": "/",
            "env": {procfs.RUN_MARK: shim.run, procfs.MEMBER_MARK: str(rank)},
        }
        for rank in range(4)
    ]
    starts[1] |= {"argv": argv, **more}
    shim.start([], starts=starts, limits={"grace": 600, "terminate": 20})
    shim.wait_done()
    shim.check()
    (failed,) = shim.of("spawn_failed")
    assert failed["member"] == "1"
    assert shim.of("spawn_done")[0]["not_started"] == ["2", "3"]
    assert shim.ends() == {0: ("killed", "SIGTERM")}, "at once, in spite of the long grace"
    (failure,) = shim.of("first_failure")
    assert (failure["rank"], failure["how"], failure["errno"]) == (1, "failed_to_start", failed["errno"])
    return failed


@pytest.mark.parametrize(
    ("argv", "more", "number"),
    [
        (["/nowhere/trainer"], {}, errno.ENOENT),
        (["no-such-command-anywhere"], {}, errno.ENOENT),
        (["/etc/passwd"], {}, errno.EACCES),
        (["/etc"], {}, errno.EACCES),
        (SLEEP, {"cwd": "/nowhere"}, errno.ENOENT),
        (SLEEP, {"cwd": "/etc/passwd"}, errno.ENOTDIR),
        (["/bin/echo", *["x" * 100_000] * 60], {}, errno.E2BIG),
        (["/bin/echo", "with\0nul"], {}, errno.EINVAL),
        (["/bin/echo"], {"env": {"bad=name": "x"}}, errno.EINVAL),
        ([], {}, errno.EINVAL),
        (7, {}, errno.EINVAL),
    ],
)
def test_what_cannot_be_started(shim: ShimRun, argv: Any, more: dict[str, Any], number: int) -> None:
    failed = start(shim, argv, **more)
    assert failed["errno"] == number
    assert failed["error"]


def test_a_bad_interpreter_line(shim: ShimRun, tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text("#!/nowhere/python\n")
    script.chmod(0o755)
    failed = start(shim, [str(script)])
    assert (failed["errno"], failed["path"]) == (errno.ENOENT, str(script))


def test_no_executable_format(shim: ShimRun, tmp_path: Path) -> None:
    program = tmp_path / "trainer"
    program.write_bytes(b"\x7fELF, but not really")
    program.chmod(0o755)
    assert start(shim, [str(program)])["errno"] == errno.ENOEXEC


def test_a_command_is_looked_up_in_the_jobs_path(shim: ShimRun, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "trainer").write_text("not executable")
    (tmp_path / "second").mkdir()
    script = tmp_path / "second" / "trainer"
    script.write_text("#!/bin/sh\nexit 42\n")
    script.chmod(0o755)
    shim.start([["trainer"]], env={"PATH": f"{tmp_path}/first:{tmp_path}/second"})
    shim.wait_done()
    assert shim.ends() == {0: ("exited", 42)}


def test_times_without_end_are_no_fault(shim: ShimRun) -> None:
    """`inf` is a number in TOML and here; a failure is still noted and a stop still carried out."""
    limits = dict.fromkeys(("grace", "interrupt", "terminate", "leftover_grace", "teardown_grace"), float("inf"))
    shim.start([["/bin/sh", "-c", "exit 3"], SLEEP], limits={**limits, "unkillable": float("nan")})
    shim.wait_for("first_failure")
    shim.request("stop")
    shim.wait_done()
    assert shim.ends() == {0: ("exited", 3), 1: ("killed", "SIGINT")}


def test_what_is_not_utf8_reaches_the_rank(shim: ShimRun) -> None:
    odd = os.fsdecode(b"\xff\xfe")
    shim.start([["/bin/sh", "-c", 'printf %s "$ODD$0"', odd]], env={"ODD": odd})
    shim.wait_done()
    assert (shim.path / "ranks/0/stdout.log").read_bytes() == b"\xff\xfe" * 2


def test_out_of_descriptors(shim: ShimRun) -> None:
    shim.start([SLEEP] * 64, prefix=("prlimit", "--nofile=24:24"), limits={"grace": 600, "terminate": 20})
    shim.wait_done()
    shim.check()
    (failed,) = shim.of("spawn_failed")
    assert failed["errno"] == errno.EMFILE
    started = len(shim.of("spawned"))
    assert 0 < started < 24
    assert shim.of("spawn_done")[0]["not_started"] == [str(rank) for rank in range(started + 1, 64)]
    assert set(shim.ends().values()) == {("killed", "SIGTERM")}


def test_too_few_descriptors_to_supervise_at_all(shim: ShimRun) -> None:
    shim.start([SLEEP] * 2, prefix=("prlimit", "--nofile=8:8"))
    shim.wait_done()
    (failed,) = shim.of("spawn_failed")
    assert (failed["member"], failed["errno"]) == ("0", errno.EMFILE)
    assert shim.of("spawn_done")[0]["not_started"] == ["1"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become a user with a limit on processes")
def test_out_of_processes() -> None:
    """EAGAIN, from a limit that counts all processes of a user; root has none, so the shim is another user's."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        shim = ShimRun(Path(folder) / "run", run=f"test-{os.path.basename(folder)}")
        shim.path.mkdir()
        for path in (shim.path / "control", shim.path / "ranks"):
            path.mkdir()
        for path in (Path(folder), shim.path, *shim.path.iterdir()):
            os.chown(path, _USER, _USER)
        prefix = ("prlimit", "--nproc=6:6", "setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups")
        try:
            shim.start([SLEEP] * 16, prefix=prefix, limits={"grace": 600, "terminate": 20})
            if b"ermission denied" in (shim.path / "shim.err").read_bytes():
                pytest.skip("another user may not run this interpreter")
            shim.wait_done()
        finally:
            shim.clean()
        shim.check()
        (failed,) = shim.of("spawn_failed")
        assert failed["errno"] == errno.EAGAIN
        assert set(shim.ends().values()) == {("killed", "SIGTERM")}
