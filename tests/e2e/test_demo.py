"""The embedded demo through the shipped command line: what each fault teaches is what grpotui says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.runs import Home

STEPS = 4


def demo(home: Home, fault: str, *words: str) -> tuple[int, str, dict[str, Any]]:
    settings = [
        f"launch.argv=['{{python}}','{{profile_dir}}/demo_grpo.py','--steps','{STEPS}','--prompts','16']",
        f"expect.steps={STEPS}",
        f"launch.env.GRPOTUI_DEMO_FAULT={fault}",
        'launch.env.GRPOTUI_DEMO_FAULT_STEP="2"',
        "launch.grace_seconds=1",
        "launch.terminate_seconds=1",
        "launch.leftover_grace_seconds=0.5",
        *words,
    ]
    done = home.run("launch", "demo", *[w for setting in settings for w in ("--set", setting)])
    return done.returncode, done.stderr, home.status()


@pytest.mark.parametrize(
    ("fault", "code", "how"),
    [
        ("kill", 137, {"how": "killed", "signal": "SIGKILL"}),
        ("segv", 139, {"how": "killed", "signal": "SIGSEGV"}),
        ("exit3", 3, {"how": "exited", "code": 3}),
        ("raise", 1, {"how": "exited", "code": 1}),
        ("kill-hang", 137, {"how": "killed", "signal": "SIGKILL"}),
        ("leave-early", 1, {"how": "left_early"}),
    ],
)
def test_the_first_failure_names_the_rank_and_how_it_ended(
    home: Home, fault: str, code: int, how: dict[str, Any]
) -> None:
    found, stderr, document = demo(home, fault)
    assert (found, document["verdict"], document["training_complete"]) == (code, "failed", False), stderr
    assert document["first_failure"]["rank"] == 1
    assert {key: document["first_failure"].get(key) for key in how} == how
    assert document["state"] == "ended"


def test_an_abort_in_teardown_fails_a_complete_training(home: Home) -> None:
    code, stderr, document = demo(home, "abort-teardown")
    assert (code, document["verdict"], document["training_complete"]) == (134, "failed", True)
    assert document["first_failure"]["signal"] == "SIGABRT"
    assert "training complete" in stderr


def test_an_orphan_is_a_leftover_and_is_ended(home: Home) -> None:
    code, stderr, document = demo(home, "orphan")
    assert (code, document["verdict"], document["leftovers"]) == (0, "passed", [])
    (run,) = (home.path / "runs").iterdir()
    ends = [r for r in home.records(run.name) if r["ev"] == "orphan_exit"]
    assert ends[-1]["sent"][0] == "SIGTERM"
    assert "SIGTERM" in stderr


def test_kept_leftovers_are_listed_and_launch_returns(home: Home) -> None:
    code, _, document = demo(home, "orphan", "launch.leftovers=keep")
    assert (code, document["state"], document["verdict"]) == (0, "draining", "passed")
    assert [left["member"] for left in document["leftovers"]] == ["1"]
    assert home.run("stop").returncode == 0
    assert home.status()["state"] == "ended"


@pytest.mark.parametrize(
    ("fault", "key", "value"), [("zero-reward", "reward/max", 0.0), ("truncate", "length/truncated", 1.0)]
)
def test_a_run_that_learns_nothing_shows_it(home: Home, fault: str, key: str, value: float) -> None:
    code, _, document = demo(home, fault)
    assert (code, document["verdict"]) == (0, "passed")
    assert document["metrics"][key] == value
