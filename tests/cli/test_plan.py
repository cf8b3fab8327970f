"""`grpotui plan`: of a profile, of a model and cards, and of a run beside what it used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import refused
from support.schemas import check

if TYPE_CHECKING:
    from support.runs import Home

DATA = Path(__file__).parents[1] / "data" / "runs"
MODEL = (
    "--model",
    "Qwen/Qwen3-1.7B",
    "--gpus",
    "4x32GB",
    "--share",
    "0.4",
    "--micro-tokens",
    "3000",
    "--length",
    "1536",
)
VERL = """
name = "p"
[launch]
mode = "command"
argv = ["{python}", "-m", "verl.trainer.main_ppo", "actor_rollout_ref.model.path=Qwen/Qwen3-0.6B",
  "actor_rollout_ref.actor.use_dynamic_bsz=True", "trainer.n_gpus_per_node=4", "actor_rollout_ref.rollout.n=4",
  "actor_rollout_ref.rollout.tensor_model_parallel_size=1", "algorithm.adv_estimator=grpo"]
"""


def document(home: Home, *words: str, code: int = 0) -> dict[str, Any]:
    done = home.run("plan", *words, "--json")
    assert (done.returncode, done.stderr) == (code, "")
    found = json.loads(done.stdout)
    check("plan", found)
    assert isinstance(found, dict)
    return found


def text(home: Home, *words: str, columns: int = 100, code: int = 0) -> str:
    done = home.run("plan", *words, env={"COLUMNS": str(columns)})
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("profile", ["verl-qwen3-4b-4x32gb", "trl-qwen3-1.7b-7gpu"])
def test_lines_are_no_wider_than_the_terminal(home: Home, profile: str, columns: int) -> None:
    lines = text(home, profile, columns=columns).splitlines()
    assert max(map(len, lines)) <= columns


def test_of_a_model_and_cards(home: Home) -> None:
    found = document(home, *MODEL)
    assert (found["memory"]["verdict"], found["model"]["parameters"]) == ("comfortable", 1_720_574_976)
    assert [phase["name"] for phase in found["memory"]["phases"]] == ["generate", "update"]
    assert found["kv_cache"]["token_bytes"] == 112 * 1024
    assert (found["batches"], found["used"], found["mistakes"]) == (None, None, [])


@pytest.mark.parametrize(
    ("size", "words"),
    [("0.6B", "free"), ("1.7B", "comfortable"), ("4B", "tight"), ("8B", "does not fit")],
)
def test_a_nominal_size_has_the_published_verdict(home: Home, size: str, words: str) -> None:
    code = 3 if words == "does not fit" else 0
    found = document(home, "--model", size, "--gpus", "4x32GB", "--share", "0.4", code=code)
    assert (found["memory"]["verdict"], found["model"]["nominal"], found["kv_cache"]) == (words, True, None)
    assert any("config.json" in word for word in found["memory"]["not_counted"])


def test_a_bar_for_each_phase_as_wide_as_the_terminal(home: Home) -> None:
    lines = text(home, *MODEL, columns=120).splitlines()
    bars = [line for line in lines if line.count("|") == 2]
    assert [line.split()[0] for line in bars] == ["generate", "update"]
    assert len({line.index("|", line.index("|") + 1) for line in bars}) == 1
    assert all(len(line) <= 120 for line in bars)
    assert "GB of 32.0 GB" in bars[0]
    assert "▒ optimizer" in "\n".join(lines)
    narrow = text(home, *MODEL, columns=20).splitlines()
    assert any(line.count("|") == 2 for line in narrow)
    assert lines[-1].startswith("verdict: comfortable, by the phase ")


def test_what_does_not_fit_is_cut_and_told_what_to_change(home: Home) -> None:
    words = ("--model", "Qwen/Qwen3-8B", "--gpus", "1x32GB", "--micro-tokens", "3000")
    shown = text(home, *words, code=3)
    assert "»|" in shown
    assert "verdict: does not fit" in shown
    assert "1. the optimizer's state to the host (98.3 GB)" in shown
    assert "generate: vllm, share not known" in shown


def test_a_profile_with_its_cards(home: Home) -> None:
    path = home.profile(VERL + "[gpus]\ncards = '4x32GB'\nhost = '64GB'\n[data]\nrows = 7473\n")
    found = document(home, path)
    assert (found["memory"]["cards"], found["memory"]["host_bytes"]) == (4, 64 * 10**9)
    assert found["batches"]["facts"]["steps an epoch"].startswith("7473 / 1024 = 7")
    other = document(home, path, "--gpus", "8x80GB")
    assert (other["memory"]["cards"], other["memory"]["card_bytes"]) == (8, 80 * 10**9)
    assert "Qwen/Qwen3-0.6B: 0.596 B parameters" in text(home, path)


def test_a_profile_without_cards_has_no_memory_plan(home: Home) -> None:
    path = home.profile(VERL)
    assert document(home, path)["memory"] is None
    shown = text(home, path)
    assert "trajectories a step" in shown
    assert "verdict" not in shown


def test_settings_of_the_command_line_and_broken_rules(home: Home) -> None:
    path = home.profile(VERL)
    mini, group = "training.'actor_rollout_ref.actor.ppo_mini_batch_size'=7", "rollout.'actor_rollout_ref.rollout.n'=1"
    found = document(home, path, "--set", mini)
    assert [(one["rule"], one["severity"]) for one in found["batches"]["broken"]][:1] == [
        ("mini_batch_divides", "warning")
    ]
    one = document(home, path, "--set", group, code=3)
    assert one["batches"]["broken"][0]["rule"] == "group_of_one"
    assert "✖ failed: rollout.n = 1" in text(home, path, "--set", group, code=3)


def test_mistakes_are_told(home: Home) -> None:
    path = home.profile(VERL + "[training.actor_rollout_ref]\nactor.ppo_mini_batch_siz = 64\n")
    key = "actor_rollout_ref.actor.ppo_mini_batch_siz"
    assert document(home, path)["mistakes"] == [f"{key} is not read here; did you mean '{key}e'?"]
    assert "▲ actor_rollout_ref.actor.ppo_mini_batch_siz is not read here" in text(home, path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "a plan needs a PROFILE, or --model and --gpus"),
        (("--model", "1.7B"), "a plan needs a PROFILE, or --model and --gpus"),
        (("--model", "someone/new", "--gpus", "1x80GB"), "no model 'someone/new': no config.json there"),
        (("--model", "1.7B", "--gpus", "many"), "'many' is no machine"),
        (("--model", "1.7B", "--gpus", "0x32GB"), "a machine without cards"),
        (("--model", "1.7B", "--gpus", "4x32GB", "--host", "128"), "'128' is no size"),
        (("demo", "--run", "x"), "PROFILE and --run exclude each other"),
        (("--run", "no-such-run"), "no-such-run"),
        (("demo",), "the profile's command has no settings of verl or TRL"),
    ],
)
def test_what_cannot_be_planned(home: Home, words: tuple[str, ...], expected: str) -> None:
    refused(home.run("plan", *words), 2, expected)


def test_a_config_of_ones_own(home: Home, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000,
    }))  # fmt: skip
    found = document(home, "--model", str(tmp_path), "--gpus", "80GB")
    assert found["model"]["parameters"] == 2 * 1000 * 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64) + 64


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run recorded on two H200s, with a plan in its profile."""
    found = tmp_path / "normal"
    shutil.copytree(DATA / "h200" / "normal", found)
    found.chmod(0o700)
    facts = json.loads((found / "run.json").read_text())
    facts["profile"]["model"] = {"path": "0.4B"}
    facts["profile"]["training"] = {"per_device_train_batch_size": 4, "num_generations": 8}
    (found / "run.json").write_text(json.dumps(facts))
    return found


def test_a_run_beside_its_plan(home: Home, run: Path) -> None:
    found = document(home, "--run", str(run))
    used = found["used"]
    assert (found["memory"]["cards"], found["memory"]["card_bytes"]) == (2, 150754820096)
    assert (used["unplanned"], used["gpu_unavailable"]) == (None, None)
    assert [(gpu["gpu"], gpu["baseline_bytes"], gpu["peak_bytes"]) for gpu in used["gpus"]] == [
        ("0", 0, 12093030400), ("1", 0, 11990269952),
    ]  # fmt: skip
    for gpu in used["gpus"]:
        assert gpu["peak_bytes"] == max(gpu["phases"].values())
        assert gpu["phases"].keys() >= {"generate", "update"}
    for torch, gpu in zip(used["torch"], used["gpus"], strict=True):
        assert torch["max_allocated_bytes"] < torch["max_reserved_bytes"] < gpu["peak_bytes"]
    shown = text(home, "--run", str(run))
    assert "GPU 0: at most 12.1 GB of 151 GB, 0 GB before it, 28 readings; planned" in shown
    assert "torch, rank 0, device 0: at most 10.1 GB allocated, 10.4 GB reserved" in shown


def test_another_machine_and_model_for_the_plan_of_a_run(home: Home, run: Path) -> None:
    found = document(home, "--run", str(run), "--gpus", "2x24GB", "--model", "0.6B")
    assert (found["memory"]["card_bytes"], found["model"]["name"]) == (24 * 10**9, "0.6B")


def test_a_run_that_cannot_be_planned_still_tells_what_it_used(home: Home) -> None:
    found = document(home, "--run", str(DATA / "h200" / "one-gpu"))
    assert (found["model"], found["memory"]) == (None, None)
    assert "no settings of verl or TRL" in found["used"]["unplanned"]
    assert found["used"]["gpus"][0]["peak_bytes"] > 10**10
    assert "no plan: the profile's command has no settings" in text(home, "--run", str(DATA / "h200" / "one-gpu"))


def test_a_run_without_gpus(home: Home) -> None:
    (path,) = (DATA / "schema-1").glob("passed-*")
    found = document(home, "--run", str(path))
    assert found["used"]["gpus"] == []
    assert found["used"]["gpu_unavailable"]
    assert "nothing is known: " in text(home, "--run", str(path))
