"""The hook in TRL's real trainer: phases while they last, exact steps and metrics, and a trainer killed in mid-phase.

`GRPOTUI_TEST_TRAINERS`, several interpreters with ':' between them, adds other generations of TRL.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from support.runs import kill, records
from support.schemas import check_directory, check_lines
from support.waiting import wait_until

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

TRAINER = os.environ.get("GRPOTUI_TEST_TRAINER", "")
OTHERS = [word for word in os.environ.get("GRPOTUI_TEST_TRAINERS", "").split(os.pathsep) if word]
pytestmark = [
    pytest.mark.trainer,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not TRAINER, reason="GRPOTUI_TEST_TRAINER names no interpreter with torch and TRL"),
]


def start(home: Home, *, fault: str = "none", steps: int = 8) -> str:
    argv = ["{python}", "{profile_dir}/trl_tiny.py", "--steps", str(steps), "--fault", fault, "--fault-step", "3"]
    settings = [
        f"launch.python={TRAINER}", f"launch.argv={json.dumps(argv)}", "launch.grace_seconds=1",
        "hook.phases=true", "hook.torch_memory=true", "hook.parameters=true",
    ]  # fmt: skip
    return home.launch("trl-tiny-cpu", *[word for setting in settings for word in ("--set", setting)])


def output(directory: Path) -> list[str]:
    """What the ranks said last: where a real trainer fails, only it can tell why."""
    return [path.read_text(errors="replace")[-3000:] for path in sorted(directory.glob("ranks/*/std*.log"))]


def test_phases_are_seen_live_and_replay_is_the_same(home: Home) -> None:
    directory = RunDirectory(str(home.directory(start(home))))
    staying, seen = Source(directory), list[dict[str, Any]]()

    def look() -> bool:
        seen.append(look_now(staying)[0])
        return bool(seen[-1]["state"] == "ended" and not directory.is_locked("monitor.lock"))

    wait_until(look, seconds=240, what="the end of the run")
    end = seen[-1]
    how = (end["verdict"], end["step"], end["steps_total"], end["training_complete"])
    assert how == ("passed", 8, 8, True), (end["first_failure"], output(home.directory(directory.run_id)))
    words = {document["phase"] for document in seen}
    assert words >= {"generate", "update"}
    assert {document["phase_since_offset_s"] is None for document in seen if document["phase"]} == {False}
    assert {m["phase"] for document in seen for m in document["ranks"]} >= {"generate", "update"}
    assert [(p["member"], p["changed"], p["samples"]) for p in end["parameters"]] == [("0", True, 6), ("1", True, 6)]
    assert end["torch_memory"] == []  # no GPU: nothing was allocated there, and nothing is said
    check_directory(directory_path := home.directory(directory.run_id))
    for live in seen[:: max(1, len(seen) // 40)]:
        check_lines("status", [json.dumps(live)])
        replayed = Source(directory)
        replayed.update(live["as_of"]["m"])
        keys = live.keys() - {"supervision", "monitor"}
        assert {key: status(replayed)[key] for key in keys} == {key: live[key] for key in keys}
    (rank_0,) = directory_path.glob("ranks/0/probe-*.jsonl")
    steps = [r["step"] for r in records(rank_0) if r["ev"] == "step_end"]
    assert steps == list(range(1, 9))


def test_the_rows_have_all_digits_and_their_steps(home: Home) -> None:
    run = start(home, steps=4)
    home.wait_for_state(run, "ended", seconds=240)
    lines = [json.loads(line) for line in home.run("attach", run, "--json").stdout.splitlines()]
    steps = [line for line in lines if line["ev"] == "step"]
    assert [line["step"] for line in steps] == [1, 2, 3, 4]
    assert all(float(f"{line['raw']['entropy']:.4g}") != line["raw"]["entropy"] for line in steps)
    assert json.loads(home.run("replay", run, "--at", "2", "--json").stdout)["step"] == 2


def test_a_trainer_killed_in_mid_phase(home: Home) -> None:
    run = start(home, fault="hang")
    hung = wait_until(
        lambda: s if (s := home.status(run))["ranks"][1:] and s["ranks"][1]["phase"] == "reward" else {},
        seconds=200,
        what="rank 1 in its reward function",
    )
    kill(hung["ranks"][1]["pid"])
    end = home.wait_for_state(run, "ended", seconds=60)
    assert (end["ranks"][1]["signal"], end["ranks"][1]["phase"], end["ranks"][1]["sent"]) == ("SIGKILL", "reward", [])
    assert end["first_failure"]["rank"] == 1
    assert (end["phase"], end["phase_since_offset_s"]) == (None, None)


def test_the_exit_code_is_the_job_s(home: Home) -> None:
    run = start(home, fault="exit3")
    end = home.wait_for_state(run, "ended", seconds=200)
    assert (end["first_failure"]["rank"], end["first_failure"]["code"]) == (1, 3)


SCRIPT = """
import sys
sys.path.insert(0, {profiles!r})
import trl_tiny as tiny, trl, tempfile
folder = tempfile.mkdtemp(dir={folder!r})
tiny.save_random_model(folder, tiny.SIZES[False])
wanted = dict(tiny.settings(__import__("argparse").Namespace(steps=3, beta=0.04, gpu=False, output_dir=None)))
wanted.update(save_strategy="steps", save_steps=2)
trainer = trl.GRPOTrainer(
    model=folder, processing_class=tiny.byte_tokenizer(), reward_funcs=[tiny.letters, tiny.no_digits],
    args=trl.GRPOConfig(output_dir={folder!r} + "/out", max_prompt_length=64, **wanted) if {old} else
    trl.GRPOConfig(output_dir={folder!r} + "/out", **wanted), train_dataset=tiny.prompts(),
)
trainer.train()
"""
PROFILES = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "profiles"))


@pytest.mark.parametrize("python", [TRAINER, *OTHERS])
def test_each_generation_of_trl(tmp_path: Path, python: str) -> None:
    from support.hooked import Job  # noqa: PLC0415

    job = Job(tmp_path, wanted="phases,parameters", python=python)
    job.write("job.py", SCRIPT.format(profiles=PROFILES, folder=str(tmp_path), old=python in OTHERS))
    path = job.environment["PYTHONPATH"].partition(os.pathsep)[0]  # the real packages, not the stand-ins
    env = {**job.environment, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [python, str(tmp_path / "job.py")]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found = job.records()
    names = {r["name"].partition(".")[2] for r in found if r["ev"] == "begin"}
    assert names >= {"_prepare_inputs", "compute_loss", "letters", "no_digits", "_save_checkpoint"}
    assert sum(r["ev"] == "begin" for r in found) == sum(r["ev"] == "end" for r in found)
    logs = [r for r in found if r["ev"] == "log"]
    assert [r["step"] for r in logs] == [1, 2, 3, 3]
    assert all(math.isfinite(r["logs"]["reward"]) for r in logs[:3])
    assert next(r["path"] for r in found if r["ev"] == "save") == str(tmp_path / "out/checkpoint-2")
    assert (tmp_path / "out/checkpoint-2").is_dir()
    samples = [r for r in found if r["ev"] == "parameters"]
    assert [r["step"] for r in samples] == [0, 1, 2, 3]
    assert all(t["changed"] for r in samples[1:3] for t in r["tensors"])
