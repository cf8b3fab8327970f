"""The state shown live at time T equals the state that replay computes for T."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.runs import demo
from support.waiting import wait_until

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from support.runs import Home

LIVE_ONLY = ("supervision", "monitor")
FAULTS = {"": "passed", "kill": "failed", "leave-early": "failed", "orphan": "passed"}


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


TRL = """
import sys, time
for step in range(1, 25):
    bar = "\\r %3d%%|#####     | %d/24 [00:%02d<00:10,  1.00it/s]" % (step * 4, step, step)
    print(bar, end="", file=sys.stderr, flush=True)
    record = "{'loss': 0.0%02d, 'grad_norm': 0.5, 'learning_rate': 1e-06, 'reward': 0.25, 'epoch': 0.1}" % step
    print(record[:40], end="", flush=True)
    time.sleep(0.08)
    print(record[40:], flush=True)
    time.sleep(0.08)
print("{'train_runtime': 3.0, 'train_loss': 0.01, 'epoch': 1.0}", flush=True)
"""


def test_a_growing_log_of_trl_with_its_two_streams_apart(home: Home) -> None:
    """The bar and the records arrive in an order that only the timeline keeps."""
    script = home.profile(TRL, "trl.py")
    run = home.launch(
        home.profile(
            'name = "trl"\nframework = "trl"\n[launch]\nmode = "ranks"\nnproc = 1\n'
            f'argv = ["{{grpotui_python}}", "-I", "-S", "{script}"]\n[logs]\nlogging_steps = 1\n'
        )
    )
    directory = RunDirectory(str(home.directory(run)))
    staying, seen = Source(directory), []

    def look() -> bool:
        seen.append(look_now(staying)[0])
        seen.append(look_now(Source(directory))[0])
        return bool(seen[-1]["state"] == "ended" and not directory.is_locked("monitor.lock"))

    wait_until(look, seconds=60, what="the end of the run")
    seen.append(look_now(staying)[0])
    assert (seen[-1]["step"], seen[-1]["verdict"], seen[-1]["training_complete"]) == (24, "passed", True)
    assert len({(document["step"], document["metrics"].get("loss")) for document in seen}) > 8
    for live in seen:
        replayed = Source(directory)
        replayed.update(live["as_of"]["m"])
        assert recorded(status(replayed)) == recorded(live)
