"""The state shown live at time T equals the state that replay computes for T."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import wait_until

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from support.runs import Home

LIVE_ONLY = ("supervision", "monitor")
FAULTS = {"": "passed", "kill": "failed", "leave-early": "failed", "orphan": "passed"}


def demo(home: Home, fault: str, *, steps: int = 8) -> str:
    argv = ["{python}", "{profile_dir}/demo_grpo.py", "--steps", str(steps), "--prompts", "16"]
    settings = [
        f"launch.argv={[*argv, '--checkpoint', str(home.path / 'checkpoints')]}",
        "launch.grace_seconds=1",
        "launch.leftover_grace_seconds=0.5",
        f"expect.steps={steps}",
    ]
    if fault:
        settings += [f"launch.env.GRPOTUI_DEMO_FAULT={fault}", 'launch.env.GRPOTUI_DEMO_FAULT_STEP="6"']
    return home.launch("demo", *[word for setting in settings for word in ("--set", setting)])


def steps_of(document: dict[str, Any]) -> int:
    return int(document["progress"]["steps_total"])


def recorded(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in LIVE_ONLY}


@pytest.mark.parametrize("fault", FAULTS)
def test_live_at_t_is_replay_at_t(home: Home, fault: str) -> None:
    directory = RunDirectory(str(home.directory(demo(home, fault))))
    staying, seen = Source(directory), []

    def look() -> bool:
        seen.append(look_now(staying)[0])
        seen.append(look_now(Source(directory))[0])  # one that has just come says the same as one that stayed
        return bool(seen[-1]["state"] == "ended" and not directory.is_locked("monitor.lock"))

    wait_until(look, seconds=60, what="the end of the run")
    seen.append(look_now(staying)[0])
    assert seen[-1]["verdict"] == FAULTS[fault]
    assert {document["state"] for document in seen} >= {"running", "ended"}
    assert seen[-1]["step"] is not None
    if FAULTS[fault] == "passed":
        (checkpoint,) = seen[-1]["checkpoints"]
        assert (checkpoint["step"], checkpoint["complete"]) == (steps_of(seen[-1]), True)
    for live in seen:
        replayed = Source(directory)
        replayed.update(live["as_of"]["m"])
        assert recorded(status(replayed)) == recorded(live)
