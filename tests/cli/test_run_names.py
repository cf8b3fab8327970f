"""RUN on a command line: unknown, ambiguous, damaged, or of a newer version; and what may stand for it."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import refused
from support.runs import Home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, str]]:
    """A home with one run that has ended."""
    home = Home(tmp_path_factory.mktemp("names") / "home")
    try:
        home.run("launch", home.ranks_profile("exit0"))
        (run,) = os.listdir(home.path / "runs")
        yield home, run
    finally:
        home.clean()


@pytest.fixture
def two(ended: tuple[Home, str], home: Home) -> tuple[Home, str, str]:
    """A home with that run, newest, and a copy of it to damage, older."""
    source, run = ended
    for name in (run, "other"):
        shutil.copytree(source.directory(run), home.directory(name), copy_function=shutil.copy2)
        for path in (home.path, home.path / "runs", home.directory(name)):
            path.chmod(0o700)
    facts = home.directory("other") / "run.json"
    os.utime(facts, ns=(1, 1))
    return home, run, "other"


def change(home: Home, run: str, **fields: Any) -> None:
    path = home.directory(run) / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    os.utime(path, ns=(1, 1))


COMMANDS = [("status",), ("attach",), ("stop",), ("replay",)]


@pytest.mark.parametrize("words", COMMANDS)
def test_an_unknown_run(ended: tuple[Home, str], words: tuple[str, ...]) -> None:
    home, run = ended
    refused(home.run(*words, "nope"), 2, "no run 'nope'", f"{home.path}/runs", "grpotui runs")
    if words == ("stop",):
        refused(home.run(*words, f"{run[:-2]}zz"), 2, f"did you mean {run}?")


@pytest.mark.parametrize("words", COMMANDS)
def test_no_run_at_all(home: Home, words: tuple[str, ...]) -> None:
    what = "no run is live" if words == ("stop",) else "there is no run"
    refused(home.run(*words), 2, what)
    assert not home.path.exists()


@pytest.mark.parametrize("words", COMMANDS)
def test_an_empty_name_is_not_the_newest_run(ended: tuple[Home, str], words: tuple[str, ...]) -> None:
    refused(ended[0].run(*words, ""), 2, "RUN is empty")


def test_an_ambiguous_name(two: tuple[Home, str, str]) -> None:
    home, run, _ = two
    shutil.copytree(home.directory(run), home.directory(f"{run}-2"))
    refused(home.run("status", run[:8]), 2, f"'{run[:8]}' fits 2 runs", f"{run}-2", "give more of the id")
    assert home.status(run)["run"] == run  # a whole id is never ambiguous


def test_a_beginning_or_a_path_will_do(two: tuple[Home, str, str], tmp_path: Path) -> None:
    home, run, _ = two
    for word in (run[:9], str(home.directory(run)), f"{home.directory(run)}/"):
        assert home.status(word)["run"] == run
    assert home.run("status", run, cwd=tmp_path).returncode == 0
    assert home.run("status", f"./{run}", cwd=home.path / "runs").returncode == 0


def test_a_directory_that_is_no_run(home: Home, tmp_path: Path) -> None:
    refused(home.run("status", str(tmp_path)), 2, f"{tmp_path} is not a run", "run.json")
    refused(home.run("status", f"{tmp_path}/no"), 2, "there is no run directory")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "Expecting value"),
        ('{"schema": 1, "pro', "Unterminated string"),
        ("[]", "Expected `object`, got `array`"),
        ('{"run": "x"}', "missing required field `schema`"),
        ('{"schema": 1, "profile": {"launch": []}}', "$.profile.launch"),
        ('{"schema": 1, "profile": {"launch": {"grace_seconds": "x"}}}', "grace_seconds"),
        ('{"schema": "1"}', "$.schema"),
        ("[" * 100000, "recursion"),
    ],
)
def test_a_damaged_run(two: tuple[Home, str, str], content: str, reason: str) -> None:
    home, _, damaged = two
    path = home.directory(damaged) / "run.json"
    path.write_text(content)
    os.utime(path, ns=(1, 1))
    refused(home.run("status", damaged), 2, f"{path} is damaged", reason, "ranks.jsonl")


def test_a_damaged_run_does_not_hide_the_others(two: tuple[Home, str, str]) -> None:
    home, run, damaged = two
    (home.directory(damaged) / "run.json").write_text("{")
    listed = json.loads(home.run("runs", "--json").stdout)["runs"]
    assert {row["run"]: row["state"] for row in listed} == {run: "ended", damaged: "unreadable"}
    assert "unreadable" in home.run("runs").stdout
    refused(home.run("stop"), 2, "no run is live")


def test_a_run_of_a_newer_version(two: tuple[Home, str, str]) -> None:
    home, run, newer = two
    change(home, newer, schema=2, profile="of another kind")
    for words in (("status",), ("stop",)):
        refused(home.run(*words, newer), 2, "newer grpotui", "schema 2", "update grpotui")
    assert home.status()["run"] == run


@pytest.mark.parametrize("name", ["ranks", "host", "findings", "timeline"])
def test_a_record_of_a_newer_version(two: tuple[Home, str, str], name: str) -> None:
    home, _, newer = two
    path = home.directory(newer) / f"{name}.jsonl"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 2', 1))
    refused(home.run("status", newer), 2, f"{name}.jsonl was written by a newer grpotui", "update grpotui")


def test_garbage_in_a_record_is_passed_over(two: tuple[Home, str, str]) -> None:
    home, _, other = two
    for name in ("ranks", "host", "findings", "timeline"):
        with (home.directory(other) / f"{name}.jsonl").open("ab") as file:
            file.write(
                b'123\n"x"\n{}\n\xff\xfe\n{"ev": 1, "m": 2}\n{"ev": "exit", "m": 1}\n{"ev": "size", "m": 1}\n{"ev"'
            )
    assert home.status(other)["verdict"] == "passed"


def test_runs_are_listed_by_their_begin(two: tuple[Home, str, str]) -> None:
    home, run, other = two
    (home.directory(other) / "touched").touch()  # what happens in an old run makes it no newer
    listed = json.loads(home.run("runs", "--json", "-n", "1").stdout)["runs"]
    assert [row["run"] for row in listed] == [run]
    refused(home.run("runs", "-n", "-1"), 2, "-n", "-1")
