"""The first line: what survives at which width, and what it says of an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grpotui.tui import cells
from grpotui.tui.feed.frame import Frame, Play
from grpotui.tui.panels.header import header
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

H200 = Path(__file__).parents[1] / "data" / "runs" / "h200"


def document(run: str, offset: float | None = None) -> dict[str, Any]:
    source = Source(RunDirectory(str(H200 / run)))
    source.update(None)
    if offset is not None:
        at = (source.start_m or 0) + round(offset * 1e9)
        source = Source(RunDirectory(str(H200 / run)))
        source.update(at)
    return status(source)


def line(found: dict[str, Any], wide: int, title: str = "sigkill", play: Play | None = None) -> str:
    text = cells.plain(header(title, Frame(kind="replay" if play else "live", document=found, play=play), wide))
    assert cells.width(text) == wide
    return text


@pytest.mark.parametrize("wide", [60, 80, 120, 200])
def test_while_it_runs_state_and_step_are_the_last_to_go(wide: int) -> None:
    text = line(document("sigkill", 50.0), wide)
    assert "● running" in text
    assert "step 3/10" in text
    assert ("ETA" in text) == (wide >= 80)
    assert ("+50s" in text) == (wide >= 120)


def test_a_verdict_that_has_no_room_is_cut_with_a_sign() -> None:
    text = line(document("sigkill"), 80, play=Play())
    assert "✖ failed: rank 1 killed by SIGKILL" in text
    assert "…" in text
    assert "ne  ‖" not in text


def test_at_the_end_the_verdict_then_what_came_of_the_devices() -> None:
    text = line(document("sigkill"), 160)
    assert "✖ failed: rank 1 killed by SIGKILL, 10.3 s before the next" in text
    assert "(1 ended by grpotui)" in text
    assert "GPUs 0-1 back at baseline after 0.052 s" in text
    assert "training complete, then" in line(document("teardown"), 200)


def test_while_a_failure_is_handled_it_is_failing() -> None:
    text = line(document("sigkill", 55.0), 120)
    assert "✖ failing: rank 1 killed by SIGKILL" in text
    assert "its peers are given time to end" in text


def test_a_signal_that_was_sent_is_named() -> None:
    found = {**document("sigkill", 55.0), "plan": {"kind": "failure", "signal": "SIGTERM", "why": "x"}}
    assert "SIGTERM sent (failure)" in line(found, 120)


def test_what_is_left_behind_is_counted() -> None:
    found = {**document("orphan", 119.0), "plan": None}
    assert "its peers" not in line(found, 120)
    found["leftovers"] = [{"pid": 1}]
    assert "▲ 1 process left behind" in line(found, 140)


def test_a_device_that_is_not_back_is_said_before_those_that_are() -> None:
    found = document("normal")
    found["gpus"][1] |= {"returned": False, "reason": "residue", "evidence": "x", "final": True, "returned_s": None}
    text = line(found, 140)
    assert "▲ passed: every rank exited 0" in text
    assert "GPU 1 NOT back at baseline" in text


def test_a_run_that_passed_and_did_less_than_expected_is_no_good_news() -> None:
    found = {**document("normal"), "expect": {"steps": 20, "met": False}}
    text = line(found, 140)
    assert "▲ passed" in text
    assert "but the profile expects 20 steps, and the log shows step 10" in text


def test_kills_for_want_of_memory_are_counted() -> None:
    found = document("sigkill")
    found["ranks"][1]["oom"] = {"kernel_kills": 1, "cgroup_kills": 2, "age_s": 1.0}
    assert "OOM-kill counter +2" in line(found, 200)


def test_a_hostile_title_of_wide_letters_keeps_the_width() -> None:
    for wide in (60, 80, 121):
        line(document("sigkill"), wide, title="训练🙂\x1b[31m\u202e" * 9)
