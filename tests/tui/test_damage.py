"""A run whose record is taken away, or cannot be read, while somebody looks at it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from support.commands import of_home
from support.gpu_machine import GpuMachine
from support.terminal import Terminal
from support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home


WAIT = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
sys.exit(3)
"""


@pytest.mark.parametrize("command", ["attach", "replay"])
def test_a_run_directory_that_is_deleted_while_it_is_watched(home: Home, command: str) -> None:
    """Said in words, with the terminal given back; or what was read stays on the screen."""
    name = home.launch(home.ranks_profile("exit0", "exit3"))
    home.wait_for_state(name, "ended")
    wait_until(lambda: not of_home(home), what="an end of everything")
    with Terminal(home.command(command, name), home.environment) as terminal:
        terminal.wait_for("rank 1 exited 3")
        shutil.rmtree(home.directory(name))
        for page in "2345678":
            terminal.press(page)
            terminal.wait_for("quit")
        terminal.press("1q")
        terminal.wait_end()
        assert terminal.left() == {}
        assert "Traceback" not in terminal.text


def test_a_live_run_whose_directory_goes_is_said(home: Home) -> None:
    name = home.launch(home.ranks_profile("sleep", "sleep"))
    home.wait_for_state(name, "running")
    hidden = home.path / "hidden"
    with Terminal(home.command("attach", name), home.environment) as terminal:
        terminal.wait_for("● running")
        home.directory(name).rename(hidden)
        code = terminal.wait_end()
        hidden.rename(home.directory(name))
        assert code != 0
        assert terminal.left() == {}
        terminal.wait_for("grpotui:")
        assert "Traceback" not in terminal.text
    assert [m["state"] for m in home.status(name)["ranks"]] == ["running", "running"]


def test_a_record_that_cannot_be_read_is_said(home: Home) -> None:
    name = home.launch(home.ranks_profile("exit0", "exit0"))
    home.wait_for_state(name, "ended")
    record = home.directory(name) / "ranks.jsonl"
    record.write_text('{"ev":"header","schema":99,"m":1,"t":1.0,"seq":1}\n')
    with Terminal(home.command("replay", name), home.environment) as terminal:
        assert terminal.wait_end() != 0
        assert terminal.left() == {}
        assert "newer grpotui" in " ".join(terminal.text.split())
        assert "Traceback" not in terminal.text


@pytest.mark.parametrize("keys", ["q", "\x03"])
def test_who_does_not_wait_for_the_memory_leaves_with_the_code_of_the_run(
    home: Home, tmp_path: Path, keys: str
) -> None:
    """Its devices stay held by a process that the end of the run does not end; the monitor gives it two minutes."""
    machine = GpuMachine(tmp_path, count=1)
    go = tmp_path / "go"
    argv = json.dumps(["{grpotui_python}", "-I", "-S", "-c", WAIT, str(go)])
    profile = home.profile(f'name = "held"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = {argv}\n')
    try:
        with Terminal(home.command("launch", profile), {**home.environment, **machine.env}) as terminal:
            terminal.wait_for("● running", "pid")
            machine.hold(0, "8GiB")
            go.touch()
            terminal.wait_for("waiting for the memory of GPU 0", "exited 3")
            terminal.press(keys)
            assert terminal.wait_end(10) == 3
            assert "the run goes on" not in terminal.text
            terminal.wait_for("failed: rank 0 exited 3")
        (directory,) = home.path.glob("runs/*")
        assert not [r for r in home.records(directory.name) if r["ev"] == "request"]
    finally:
        machine.clean()
