"""Runs recorded on real GPUs (tests/data/runs/h200): what grpotui says of them at every moment that matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.runs import records
from support.schemas import check, check_directory

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

DATA = Path(__file__).parents[1] / "data" / "runs" / "h200"
RUNS = sorted(path.parent for path in DATA.glob("*/run.json"))
GIB, MIB = 1 << 30, 1 << 20
BACK = {
    "one-gpu": 0.047,
    "one-gpu-orphan": 0.152,
    "normal": 0.153,
    "sigkill": 0.052,
    "teardown": 0.097,
    "orphan": 0.096,
}
"""Seconds from the end of the last process to the first reading at the baseline."""


def moment(name: str, file: str, ev: str, **fits: Any) -> int:
    """When the first such record was written."""
    found = (r for r in records(DATA / name / f"{file}.jsonl") if r["ev"] == ev)
    return next(int(r["m"]) for r in found if all(r.get(key) == value for key, value in fits.items()))


def at(name: str, until: int | None = None) -> dict[str, Any]:
    """The status of a run at a moment, checked against its schema."""
    source = Source(RunDirectory(str(DATA / name)))
    source.update(until)
    document = status(source)
    check("status", document)
    return document


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_every_device_is_back_as_it_was_measured(path: Path) -> None:
    check_directory(path)
    document = at(path.name)
    assert {(g["returned"], g["returned_s"], g["kind"]) for g in document["gpus"]} == {(True, BACK[path.name], "v2")}
    assert [(g["baseline_bytes"], g["used_bytes"]) for g in document["gpus"]] == [(0, 0)] * len(document["gpus"])


def test_all_six_are_there() -> None:
    assert {path.name for path in RUNS} == BACK.keys()


def test_three_readings_of_one_rank_are_three_numbers() -> None:
    document = at("normal", moment("normal", "ranks", "exit") - 2_000_000_000)
    for gpu, torch, rank in zip(document["gpus"], document["torch_memory"], document["ranks"], strict=True):
        (process,) = gpu["processes"]
        assert (process["pid"], process["owner"], process["member"]) == (rank["pid"], "run", rank["member"])
        assert torch["allocated_bytes"] < torch["reserved_bytes"] < process["used_bytes"] < gpu["used_bytes"]
        assert gpu["returned"] is None


def test_a_late_orphan_is_never_taken_for_memory_that_is_back() -> None:
    """Both GPUs read 0 with empty lists when the last rank has ended."""
    end = moment("orphan", "ranks", "ranks_done")
    idle = at("orphan", end + 1_000_000_000)
    assert [(g["used_bytes"], g["processes"], g["returned"]) for g in idle["gpus"]] == [(0, [], None), (0, [], None)]
    (left,) = idle["leftovers"]
    assert (left["gpus"], left["gpu_bytes"]) == ([], None)
    late = at("orphan", end + 9_000_000_000)
    assert late["gpus"][0]["used_bytes"] > 2.5 * GIB
    (left,) = late["leftovers"]
    assert (left["gpus"], left["gpu_bytes"]) == (["0"], late["gpus"][0]["processes"][0]["used_bytes"])
    soft = at("orphan", moment("orphan", "ranks", "orphan_exit") - 1)
    assert [(g["returned"], g["reason"], g["final"]) for g in soft["gpus"]] == [(False, "held_by_ours", False)] * 2
    assert moment("orphan", "gpu", "returned") > moment("orphan", "ranks", "done")


def test_what_a_peer_still_maps_has_no_owner() -> None:
    """The rank of GPU 1 is dead, its peer hangs: memory is held there, and nobody is listed."""
    document = at("sigkill", moment("sigkill", "ranks", "exit", rank=1) + 5_000_000_000)
    zero, one = document["gpus"]
    assert zero["processes"][0]["member"] == "0"
    assert one["processes"] == []
    assert one["unattributed_bytes"] == one["used_bytes"]
    assert 250 * MIB < one["used_bytes"] < 350 * MIB
    assert (zero["returned"], one["returned"]) == (None, None)


def test_exits_are_those_of_the_operating_system() -> None:
    ends = {name: [(m["state"], m.get("signal") or m["code"]) for m in at(name)["ranks"]] for name in BACK}
    assert ends == {
        "one-gpu": [("exited", 0)],
        "one-gpu-orphan": [("exited", 0)],
        "normal": [("exited", 0), ("exited", 0)],
        "sigkill": [("killed", "SIGTERM"), ("killed", "SIGKILL")],
        "teardown": [("exited", 0), ("killed", "SIGABRT")],
        "orphan": [("exited", 0), ("exited", 0)],
    }
    assert at("teardown")["training_complete"]
    assert {name: at(name)["verdict"] for name in BACK if at(name)["verdict"] != "passed"} == {
        "sigkill": "failed",
        "teardown": "failed",
    }


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_seen_in_small_steps_it_is_the_same(path: Path) -> None:
    """As a client saw it live: in many updates, each as far as the records went."""
    last = max(int(r["m"]) for file in ("gpu", "ranks", "host") for r in records(path / f"{file}.jsonl"))
    first = moment(path.name, "ranks", "header")
    stepwise = Source(RunDirectory(str(path)))
    for part in range(1, 41):
        until = first + (last - first) * part // 40
        stepwise.update(until)
        if part % 8 == 0:
            assert status(stepwise) == at(path.name, until)
