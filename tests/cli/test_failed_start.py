"""What cannot be started: the code of a shell, the word that was tried, and no rank that waits for the others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import of_home
from support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

PROFILE = 'name = "x"\n[launch]\nmode = "ranks"\nnproc = 2\nargv = ["{python}"]\n'


def program(folder: Path, name: str, content: str, mode: int) -> str:
    path = folder / name
    path.write_text(content)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("more", [(), ("--detach",)], ids=["followed", "detached"])
@pytest.mark.parametrize(
    ("python", "code", "reason"),
    [
        ("/no/such/python3", 127, "no such file: /no/such/python3"),
        ("no-such-command", 127, "not found on PATH: no-such-command"),
        ("{folder}/data", 126, "it may not be executed: {folder}/data"),
        ("{folder}/binary", 126, "Exec format error: {folder}/binary"),
    ],
)
def test_a_start_that_fails(home: Home, python: str, code: int, reason: str, more: tuple[str, ...]) -> None:
    tmp_path = home.path.parent
    program(tmp_path, "data", "", 0o644)
    program(tmp_path, "binary", "\0\0no program", 0o755)
    words = ["launch", home.profile(PROFILE), "--set", f"launch.python={python.format(folder=tmp_path)}"]
    done = home.run(*words, *more)
    reason = reason.format(folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert f"rank 0 not started: {reason}" in done.stderr
    assert "Traceback" not in done.stderr
    (run,) = [path.name for path in (home.path / "runs").iterdir()]
    assert done.stdout == (f"{run}\n" if more else "")
    document = home.wait_for_state(run, "ended")
    assert document["first_failure"]["reason"] == reason
    assert [m["rank"] for m in document["ranks"]] == [0, 1]  # and the second was not even tried
    assert document["ranks"][1]["errno"] is None
    wait_until(lambda: not of_home(home), what="an end of everything")


def test_the_end_of_a_stream_says_whose_code_it_is(home: Home) -> None:
    done = home.run("launch", home.profile(PROFILE), "--set", "launch.python=no-such-command", "--json")
    end = json.loads(done.stdout.splitlines()[-1])
    assert (end["ev"], end["exit_code"], end["code_from"], done.returncode) == ("end", 127, "job", 127)
    assert end["status"]["first_failure"]["seconds_before_next"] is None  # the other never was


def test_an_interpreter_without_right_on_its_folder(home: Home, tmp_path: Path) -> None:
    """PATH entries that are no directory, or hold a file of that name without the right to execute it."""
    program(tmp_path, "tool", "#!/bin/sh\n", 0o644)
    done = home.run(
        "launch", home.profile(PROFILE), "--set", "launch.python=tool", env={"PATH": f"/no/such:{tmp_path}"}
    )
    assert done.returncode == 126
    assert f"it may not be executed: {tmp_path}/tool" in done.stderr
