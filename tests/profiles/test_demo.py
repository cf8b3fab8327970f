"""The demo as a launcher sees it: real processes, their output, and that they learn."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from demo_console import step_line, validation_text
from support.demo import PROFILES, Start
from support.waiting import wait_until

KEYS = [
    "training/global_step",
    "training/epoch",
    *(
        f"{name}/{end}"
        for name in ("critic/score", "critic/rewards", "critic/advantages", "response_length", "prompt_length")
        for end in ("mean", "max", "min")
    ),
    *(f"actor/{name}" for name in ("entropy", "kl_loss", "ppo_kl", "pg_clipfrac", "pg_loss", "grad_norm", "lr")),
    "response_length/clip_ratio",
    *(f"timing_s/{name}" for name in ("gen", "reward", "old_log_prob", "ref", "adv", "update_actor", "step")),
    *(f"perf/{name}" for name in ("total_num_tokens", "time_per_step", "throughput")),
]
SMALL = ("--prompts", "10")


def test_it_learns(start: Start) -> None:
    job = start("--steps", "24", "--prompts", "60")
    assert job.codes() == [0, 0], job.stderr()
    steps = job.steps()
    scores = [step["critic/score/mean"] for step in steps]
    assert len(scores) == 24
    assert 0.05 < scores[0] < 0.25
    assert scores[-1] > 0.7
    assert sum(scores[8:16]) / 8 > sum(scores[:8]) / 8 + 0.2
    assert steps[-1]["actor/entropy"] < steps[0]["actor/entropy"] - 1
    assert steps[0]["response_length/clip_ratio"] > 0.05 > steps[-1]["response_length/clip_ratio"]
    assert len({step["actor/pg_clipfrac"] for step in steps}) > 12
    assert any(step["actor/pg_clipfrac"] > 0.01 for step in steps)
    assert steps[-1]["val-core/demo/reward/mean@1"] > 0.9


def test_output_has_verls_form(start: Start) -> None:
    job = start("--steps", "3", *SMALL)
    assert job.codes() == [0, 0], job.stderr()
    first, *steps, last = job.stdout().splitlines()
    assert steps.pop(2) == "test_gen_batch meta info: {'validate': True, 'global_steps': 3}"
    assert first == "Total training steps: 3"
    assert [line.partition(" - ")[0] for line in steps] == ["step:1", "step:2", "step:3"]
    score = job.steps()[-1]["val-core/demo/reward/mean@1"]
    assert last == f"\"Final validation metrics: {{'val-core/demo/reward/mean@1': {score!r}}}\""
    for step in job.steps():
        assert set(KEYS) <= set(step)
    assert " - training/global_step:1 - training/epoch:0 - " in steps[0]
    assert job.stdout(1) == ""
    assert "rank 1 of 2" in job.stderr(1)


def test_numbers_agree_with_each_other(start: Start) -> None:
    job = start("--steps", "2", *SMALL, world=3)
    assert job.codes() == [0, 0, 0], job.stderr()
    for step in job.steps():
        parts = sum(value for key, value in step.items() if re.match("timing_s/(?!step)", key))
        assert 0 < parts <= step["timing_s/step"] == step["perf/time_per_step"]
        words = 3 * 10 * 8 * (step["response_length/mean"] + step["prompt_length/mean"])
        assert step["perf/total_num_tokens"] == pytest.approx(words)
        assert step["perf/throughput"] == pytest.approx(words / step["timing_s/step"] / 3)
        assert step["critic/advantages/min"] < 0 < step["critic/advantages/max"] < 8**0.5
        assert step["critic/score/min"] <= step["critic/score/mean"] <= step["critic/score/max"] <= 1


def test_bar_is_like_tqdms(start: Start) -> None:
    job = start("--steps", "4", *SMALL)
    assert job.codes() == [0, 0], job.stderr()
    bars = re.findall(r"\r(Training Progress: [^\r\n]*)", (job.folder / "0.err").read_bytes().decode())
    assert len(bars) == 5
    assert bars[0] == "Training Progress:   0%|          | 0/4 [00:00<?, ?it/s]"
    assert re.fullmatch(
        r"Training Progress:  25%\|##5       \| 1/4 \[\d\d:\d\d<\d\d:\d\d, +\d+\.\d\d(it/s|s/it)\]", bars[1]
    )
    assert bars[4].startswith("Training Progress: 100%|##########| 4/4 [")


def test_same_seed_same_run(start: Start) -> None:
    def learned(*arguments: str) -> list[dict[str, float]]:
        job = start("--steps", "3", *SMALL, *arguments)
        assert job.codes() == [0, 0], job.stderr()
        measured = ("timing_s/", "perf/time_per_step", "perf/throughput")
        return [{k: v for k, v in step.items() if not k.startswith(measured)} for step in job.steps()]

    assert learned() == learned()
    assert learned() != learned("--seed", "2")


def test_one_rank_needs_no_launcher(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    job = start("--steps", "21", "--prompts", "1", "--checkpoint", str(folder), world=1)
    assert job.codes() == [0], job.stderr()
    assert sorted(file.name for file in folder.iterdir()) == [
        "global_step_20", "global_step_21", "latest_checkpointed_iteration.txt"
    ]  # fmt: skip
    assert (folder / "latest_checkpointed_iteration.txt").read_text() == "21"
    saved = json.loads((folder / "global_step_21/weights.json").read_text())
    assert saved["step"] == 21
    assert any(saved["weights"])


def test_lines_come_at_once(start: Start) -> None:
    job = start("--steps", "100000", *SMALL)
    wait_until(lambda: len(job.steps()) > 2, what="steps while the run is going on")
    assert [process.poll() for process in job.processes] == [None, None]


def test_step_line_keeps_every_digit() -> None:
    assert step_line(3, {"a/b": 0.1 + 0.2, "c": 7}) == "step:3 - a/b:0.30000000000000004 - c:7"
    assert step_line(1, {"lr": 1e-06, "x": float("nan")}) == "step:1 - lr:1e-06 - x:nan"


def test_validation_is_wrapped_as_verl_wraps_it() -> None:
    text = validation_text({"val-core/openai/gsm8k/reward/mean@1": 0.8765432109876543})
    assert text == ("(\"Final validation metrics: {'val-core/openai/gsm8k/reward/mean@1': \"\n '0.8765432109876543}')")


def test_profile_starts_what_it_ships() -> None:
    profile = tomllib.loads((PROFILES / "demo.toml").read_text())
    assert (profile["name"], profile["framework"]) == ("demo", "verl")
    launch = profile["launch"]
    assert (launch["mode"], launch["nproc"], launch["python"]) == ("ranks", 2, "{grpotui_python}")
    script = launch["argv"][1].replace("{profile_dir}", str(PROFILES))
    assert Path(script).is_file()
    assert launch["argv"][2:] == ["--steps", str(profile["expect"]["steps"])]
