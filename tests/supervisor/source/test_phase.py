"""Whose word counts, and what a front end is told of it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from grpotui_supervisor.model.members import Exited, Member, Running
from grpotui_supervisor.model.run_state import RunState
from grpotui_supervisor.source.metrics import LogPhase
from grpotui_supervisor.source.phase import Phase, phase_now
from grpotui_supervisor.source.timed_sections import Phase as HookPhase

if TYPE_CHECKING:
    from support.runs import Home


def source(
    title: str | None, log: str | None, *, hook: str | None = None, state: object = None, owned: bool = True
) -> Any:
    member = Member(key="driver", node="n", role="driver", owned=owned, state=state or Running())  # type: ignore[arg-type]
    return SimpleNamespace(
        run=RunState(members={"driver": member}),
        titled=title and Phase(title, "process title", 7),
        logs=SimpleNamespace(phase=log and LogPhase(log, 5)),
        probes=SimpleNamespace(phase=hook and HookPhase(hook, 9), leader="driver"),
    )


@pytest.mark.parametrize(
    ("title", "log", "told"),
    [
        (None, None, None),
        (None, "save", ("save", "log", 5)),
        ("update", None, ("update", "process title", 7)),
        ("update", "validate", ("update", "process title", 7)),
        ("generate", "validate", ("validate", "log", 5)),
        ("generate", "first_step", ("generate", "process title", 7)),
        ("load_model", "capture_graphs", ("capture_graphs", "log", 5)),
        ("load_model", "complete", ("load_model", "process title", 7)),
    ],
)
def test_the_more_particular_word_counts(title: str | None, log: str | None, told: object) -> None:
    assert phase_now(source(title, log)) == told


def test_the_hook_comes_first() -> None:
    assert phase_now(source("generate", "validate", hook="reward")) == ("reward", "hook", 9)


def test_the_phase_of_another_member_is_not_the_runs() -> None:
    one = source(None, "save", hook="reward")
    one.probes.leader = "1"
    assert phase_now(one) == ("save", "log", 5)


def test_what_has_ended_does_nothing() -> None:
    for owned in (True, False):
        assert phase_now(source("update", "save", hook="update", state=Exited(0), owned=owned)) is None


def test_the_log_of_an_attached_job_tells_its_phase() -> None:
    assert phase_now(source(None, "save", owned=False)) == ("save", "log", 5)


JOB = r"""
name = "job"
framework = "trl"
[launch]
mode = "ranks"
nproc = 1
argv = ["sh", "-c", "printf '\\rLoading weights:   0%%|   | 0/310 [00:00<?, ?it/s]'; sleep 1.5; printf '\\r\\n'"]
"""


def test_front_ends_are_told(home: Home) -> None:
    path = home.profile(JOB)
    lines = [json.loads(line) for line in home.run("launch", path, "--json").stdout.splitlines()]
    assert [(line["phase"], line["from"]) for line in lines if line["ev"] == "phase"] == [
        ("load_model", "log"),
        (None, None),
    ]
    assert "loading the model (from the log)" in home.run("launch", path, "--plain").stderr
