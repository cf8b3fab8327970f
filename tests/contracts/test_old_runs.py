"""Runs that an earlier version recorded: each directory under tests/data/runs must always load.

They were made by the program itself (the demo); host, paths and user were made neutral afterwards. A record schema that
changes gets a new folder beside these, and these stay.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.schemas import check, check_directory, check_lines

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from support.runs import Home

DATA = Path(__file__).parents[1] / "data" / "runs"
RUNS = sorted(path.parent for path in DATA.glob("schema-*/*/run.json"))
PASSED = next(path for path in RUNS if path.name.startswith("passed-"))
KILLED = next(path for path in RUNS if path.name.startswith("killed-"))


def shown(home: Home, *words: str) -> dict[str, Any]:
    done = home.run(*words, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    check("status", document)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("path", RUNS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_it_loads(home: Home, path: Path) -> None:
    check_directory(path)
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    document = shown(home, "status", str(path))
    assert (document["state"], document["supervision"]["place"]) == ("ended", "copy")
    assert shown(home, "replay", str(path))["verdict"] == document["verdict"]
    lines = check_lines("stream", home.run("attach", str(path), "--json").stdout.splitlines())
    assert lines[-1]["status"]["verdict"] == document["verdict"]
    assert home.run("status", str(path)).stdout.startswith(path.name)
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == before  # and nothing was written there


def test_a_run_that_passed(home: Home) -> None:
    document = shown(home, "status", str(PASSED))
    assert (document["verdict"], document["training_complete"], document["first_failure"]) == ("passed", True, None)
    assert (document["step"], document["steps_total"], document["framework"]) == (4, 4, "verl")
    assert [(m["rank"], m["state"], m["code"]) for m in document["ranks"]] == [(0, "exited", 0), (1, "exited", 0)]
    assert {"reward/mean", "kl/reference", "entropy", "length/mean", "time/step"} <= document["metrics"].keys()
    assert home.run("attach", str(PASSED)).returncode == 0


def test_a_run_in_which_a_rank_was_killed(home: Home) -> None:
    document = shown(home, "status", str(KILLED))
    assert (document["verdict"], document["training_complete"]) == ("failed", False)
    assert document["first_failure"]["rank"] == 1
    assert [(m["signal"], m["sent"]) for m in document["ranks"]] == [("SIGTERM", ["SIGTERM"]), ("SIGKILL", [])]
    assert home.run("attach", str(KILLED)).returncode == 137


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_every_moment_of_it_can_be_replayed(path: Path) -> None:
    """In steps of 0.1 s, with one source that goes on and with a new one each time: both tell the same."""
    directory = RunDirectory(str(path))
    whole = Source(directory)
    whole.update(None)
    first, last = whole.run.first_m, whole.run.last_m
    assert first is not None
    assert last is not None
    going_on, states = Source(directory), []
    for moment in range(first, last + 200_000_000, 100_000_000):
        fresh = Source(directory)
        fresh.update(moment)
        going_on.update(moment)
        document = status(fresh)
        assert status(going_on) == document
        check("status", document)
        states.append(document["state"])
    order = [state for index, state in enumerate(states) if index == 0 or states[index - 1] != state]
    assert order[-1] == "ended"
    assert len(order) == len(set(order))  # no state comes twice
