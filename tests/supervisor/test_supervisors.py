"""Asking a shim for something: by file, by signal when no file can be written, and of a run that has none."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.runs import Home
from support.waiting import wait_until

from grpotui_supervisor import supervisors
from grpotui_supervisor.errors import StartError
from grpotui_supervisor.rundir import RunDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def small_home(tmp_path: Path) -> Iterator[Home]:
    """A state root on a file system of 4 MiB."""
    path = tmp_path / "small"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "none", path], check=False)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    home = Home(path / "home")
    yield home
    home.clean()
    wait_until(lambda: subprocess.run(["umount", path], check=False, capture_output=True).returncode == 0)


def fill(path: Path) -> Path:
    """Takes the last byte of the file system."""
    filler = path / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return filler


def takes_no_request(directory: RunDirectory) -> bool:
    try:
        directory.request("hold")
    except OSError as error:
        return error.errno == errno.ENOSPC
    return False


def test_a_run_on_a_full_disk_can_be_stopped(small_home: Home) -> None:
    run = small_home.launch(small_home.ranks_profile("sleep", "stubborn"))
    directory = RunDirectory(str(small_home.directory(run)))
    filler = fill(small_home.path.parent)
    wait_until(lambda: takes_no_request(directory), what="a disk that takes no request")
    supervisors.ask(directory, "stop", why="test")
    filler.unlink()
    document = small_home.wait_for_state(run, "ended")
    assert document["verdict"] == "stopped"
    assert [m["signal"] for m in document["ranks"]] == ["SIGINT", "SIGKILL"]


def test_a_request_that_comes_too_late_changes_nothing(home: Home) -> None:
    run = home.launch(home.ranks_profile("exit0"))
    home.wait_for_state(run, "ended")
    supervisors.ask(RunDirectory(str(home.directory(run))), "stop", why="late")
    assert [r["ev"] for r in home.records(run) if r["ev"] in ("shim", "request", "done")] == ["shim", "done"]
    assert home.status(run)["verdict"] == "passed"


def test_a_shim_that_cannot_start_says_why(home: Home) -> None:
    run = home.launch(home.ranks_profile("exit0"))
    home.wait_for_state(run, "ended")
    directory = RunDirectory(str(home.directory(run)))
    with pytest.raises(StartError, match="did not come up"):
        supervisors.start_shim(directory, {"run": run}, os.environ)
