"""`replay --at`: what a moment may look like, and what is shown of it."""

from __future__ import annotations

import datetime as dt
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import refused
from support.runs import Home
from support.schemas import check

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, str]]:
    """A run in which rank 1 is killed about half a second after the start."""
    home = Home(tmp_path_factory.mktemp("replay") / "home")
    try:
        run = home.launch(home.ranks_profile("sleep", f"kill {time.monotonic() + 1.5}"))
        home.wait_for_state(run, "ended")
        yield home, run
    finally:
        home.clean()


def at(home: Home, run: str, moment: str | None) -> dict[str, Any]:
    done = home.run("replay", run, *([] if moment is None else ["--at", moment]), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    check("status", document)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(
    "moment",
    ["nonsense", "", "-5", "1.5", "+1e3", "0001-01-01", "2026-13-01", "+" + "9" * 400, "\x1b[31m"],
)
def test_nonsense_is_no_moment(killed: tuple[Home, str], moment: str) -> None:
    home, run = killed
    done = home.run("replay", run, "--at", moment)
    refused(done, 2, "is no moment", "+12.5 is seconds after the start")
    assert "\x1b" not in done.stderr


def test_before_the_first_record_there_is_nothing_to_show(killed: tuple[Home, str]) -> None:
    home, run = killed
    began = dt.datetime.fromtimestamp(home.records(run)[0]["t"]).strftime("%Y-%m-%dT%H:%M:%S")  # noqa: DTZ006  (local)
    refused(home.run("replay", run, "--at", "2020-02-03"), 2, "nothing", "2020-02-03", began)


def test_moments_of_a_run(killed: tuple[Home, str]) -> None:
    home, run = killed
    records = home.records(run)
    died = next(r for r in records if r["ev"] == "exit" and r["how"] == "killed" and not r["sent"])
    offset = (died["m"] - records[0]["m"]) / 1e9
    before, after = at(home, run, f"+{offset - 0.001:.6f}"), at(home, run, f"+{offset + 0.001:.6f}")
    assert [m["state"] for m in before["ranks"]] == ["running", "running"]
    assert [m["state"] for m in after["ranks"]] == ["running", "killed"]
    assert (before["first_failure"], after["first_failure"]["signal"]) == (None, "SIGKILL")
    assert (before["verdict"], after["verdict"], at(home, run, None)["verdict"]) == (None, None, "failed")
    wall = dt.datetime.fromtimestamp(died["t"] + 0.05).isoformat()  # noqa: DTZ006
    assert at(home, run, wall)["first_failure"] == after["first_failure"]
    far = at(home, run, "+99999999999")
    assert (far["state"], far["verdict"]) == ("ended", "failed")


def test_the_text_says_when(killed: tuple[Home, str]) -> None:
    home, run = killed
    text = home.run("replay", run, "--at", "+0.3").stdout
    assert text.splitlines()[0] == f"{run}  running, 0s after the start"


def test_a_run_without_records(home: Home) -> None:
    run = home.launch(home.ranks_profile("exit0"))
    home.wait_for_state(run, "ended")
    (home.directory(run) / "ranks.jsonl").write_bytes(b"")
    refused(home.run("replay", run, "--at", "+1"), 2, "has no record")
    assert home.status(run)["verdict"] == "unknown"  # and never passed
