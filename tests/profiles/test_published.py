"""Profiles of published runs: `launch --dry-run` has every number of the source, and the plan agrees with it."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from grpotui_supervisor import planning
from grpotui_supervisor.plan.cache_plan import cache_plan
from grpotui_supervisor.plan.machine import parse_cards
from grpotui_supervisor.plan.settings import options, overrides
from grpotui_supervisor.profiles import load_profile

if TYPE_CHECKING:
    from support.runs import Home

    from grpotui_supervisor.model.profile import Profile

PROFILES = Path(__file__).parents[2] / "profiles"
ACTOR, ROLLOUT, REF = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout.", "actor_rollout_ref.ref."
SCRIPT = {
    "algorithm.adv_estimator": "grpo", "algorithm.use_kl_in_reward": "False",
    "data.max_prompt_length": "1024", "data.max_response_length": "1024", "data.filter_overlong_prompts": "True",
    "data.truncation": "error", "actor_rollout_ref.model.use_remove_padding": "True",
    "actor_rollout_ref.model.enable_gradient_checkpointing": "True",
    f"{ACTOR}optim.lr": "1e-6", f"{ACTOR}ppo_micro_batch_size_per_gpu": "2", f"{ACTOR}use_kl_loss": "True",
    f"{ACTOR}kl_loss_coef": "0.001", f"{ACTOR}kl_loss_type": "low_var_kl", f"{ACTOR}entropy_coeff": "0",
    f"{ACTOR}fsdp_config.param_offload": "False", f"{ACTOR}fsdp_config.optimizer_offload": "False",
    f"{ACTOR}ppo_max_token_len_per_gpu": "3000", f"{ACTOR}use_dynamic_bsz": "True",
    f"{ROLLOUT}log_prob_micro_batch_size_per_gpu": "2", f"{ROLLOUT}name": "vllm",
    f"{ROLLOUT}enable_chunked_prefill": "False", f"{ROLLOUT}enforce_eager": "False",
    f"{ROLLOUT}free_cache_engine": "True", f"{ROLLOUT}log_prob_use_dynamic_bsz": "True",
    f"{ROLLOUT}log_prob_max_token_len_per_gpu": "4096", f"{REF}log_prob_micro_batch_size_per_gpu": "2",
    f"{REF}fsdp_config.param_offload": "True", f"{REF}log_prob_use_dynamic_bsz": "True",
    f"{REF}log_prob_max_token_len_per_gpu": "8192", "trainer.critic_warmup": "0", "trainer.nnodes": "1",
    "trainer.save_freq": "20", "trainer.test_freq": "5", "trainer.total_epochs": "15",
}  # fmt: skip
"""What run_qwen3_4b_fsdp.sh of verl gives where its variables are not set."""
COURSE = {
    **SCRIPT, "trainer.n_gpus_per_node": "4", f"{ROLLOUT}tensor_model_parallel_size": "1",
    f"{ROLLOUT}gpu_memory_utilization": "0.4", "trainer.project_name": "course_grpo", "trainer.logger": "console",
}  # fmt: skip
REAL = {
    **COURSE, "data.train_batch_size": "128", f"{ACTOR}ppo_mini_batch_size": "64", f"{ROLLOUT}n": "5",
    "data.max_prompt_length": "512", "data.max_response_length": "1024", "trainer.total_epochs": "2",
    "trainer.test_freq": "10", "trainer.save_freq": "50",
}  # fmt: skip
VERL: dict[str, dict[str, str]] = {
    "verl-qwen3-0.6b-4x32gb": {
        **COURSE, "actor_rollout_ref.model.path": "Qwen/Qwen3-0.6B", "data.train_batch_size": "32",
        f"{ACTOR}ppo_mini_batch_size": "16", f"{ROLLOUT}n": "4", "data.max_response_length": "512",
        "trainer.experiment_name": "smoke_qwen3_0_6b", "trainer.total_training_steps": "3",
        "trainer.val_before_train": "False",
    },
    "verl-qwen3-1.7b-4x32gb": {
        **REAL, "actor_rollout_ref.model.path": "Qwen/Qwen3-1.7B", "trainer.experiment_name": "qwen3_1_7b_gsm8k",
    },
    "verl-qwen3-4b-4x32gb": {
        **REAL, "actor_rollout_ref.model.path": "Qwen/Qwen3-4B", "trainer.experiment_name": "qwen3_4b_gsm8k",
        f"{ACTOR}fsdp_config.optimizer_offload": "True",
    },
    "verl-qwen3-8b-lora-4x32gb": {
        "algorithm.adv_estimator": "grpo", "algorithm.use_kl_in_reward": "False", "data.train_batch_size": "64",
        "data.max_prompt_length": "512", "data.max_response_length": "1024", "data.filter_overlong_prompts": "True",
        "data.truncation": "error", "actor_rollout_ref.model.path": "Qwen/Qwen3-8B",
        "actor_rollout_ref.model.lora_rank": "64", "actor_rollout_ref.model.lora_alpha": "32",
        "actor_rollout_ref.model.use_remove_padding": "True",
        "actor_rollout_ref.model.enable_gradient_checkpointing": "True", f"{ACTOR}optim.lr": "3e-6",
        f"{ACTOR}ppo_mini_batch_size": "32", f"{ACTOR}use_dynamic_bsz": "True",
        f"{ACTOR}ppo_max_token_len_per_gpu": "3000", f"{ACTOR}use_kl_loss": "True", f"{ACTOR}kl_loss_coef": "0.001",
        f"{ACTOR}kl_loss_type": "low_var_kl", f"{ACTOR}entropy_coeff": "0",
        f"{ACTOR}fsdp_config.param_offload": "False", f"{ACTOR}fsdp_config.optimizer_offload": "False",
        f"{ROLLOUT}name": "vllm", f"{ROLLOUT}tensor_model_parallel_size": "2",
        f"{ROLLOUT}gpu_memory_utilization": "0.4", f"{ROLLOUT}n": "5", f"{ROLLOUT}load_format": "safetensors",
        f"{ROLLOUT}layered_summon": "True", f"{ROLLOUT}log_prob_use_dynamic_bsz": "True",
        f"{ROLLOUT}log_prob_max_token_len_per_gpu": "3000", f"{REF}log_prob_use_dynamic_bsz": "True",
        f"{REF}log_prob_max_token_len_per_gpu": "3000", f"{REF}fsdp_config.param_offload": "True",
        "trainer.balance_batch": "True", "trainer.project_name": "verl_grpo_lora_gsm8k",
        "trainer.experiment_name": "qwen3_8b_lora_vllm_fsdp", "trainer.n_gpus_per_node": "4", "trainer.nnodes": "1",
        "trainer.val_before_train": "False", "trainer.save_freq": "20", "trainer.test_freq": "5",
        "trainer.total_epochs": "15", "trainer.logger": "console",
    },
    "verl-7b-8x80gb": {
        "algorithm.adv_estimator": "grpo", "algorithm.gamma": "1.0", "algorithm.lam": "0.95",
        "data.train_batch_size": "1024", f"{ACTOR}ppo_mini_batch_size": "256",
        f"{ACTOR}ppo_micro_batch_size_per_gpu": "2",
        f"{ACTOR}optim.lr": "1e-6", f"{ACTOR}clip_ratio": "0.2", f"{ACTOR}use_kl_loss": "True",
        f"{ACTOR}kl_loss_coef": "0.01", f"{ACTOR}strategy": "fsdp", f"{ROLLOUT}n": "4", f"{ROLLOUT}temperature": "0.7",
        f"{ROLLOUT}top_p": "0.95", "actor_rollout_ref.model.enable_gradient_checkpointing": "True",
        "trainer.n_gpus_per_node": "8", "trainer.nnodes": "1",
    },
}  # fmt: skip
"""By profile: each number of its source, as Hydra gets it in the end."""
TRL = {
    "model_name_or_path": "Qwen/Qwen3-1.7B", "max_steps": "2", "max_prompt_length": "2048",
    "max_completion_length": "16000", "num_generations": "8", "num_iterations": "2",
    "per_device_train_batch_size": "1", "gradient_accumulation_steps": "8", "beta": "0.0", "bf16": "true",
    "use_peft": "true", "use_vllm": "true", "vllm_mode": "colocate", "vllm_tensor_parallel_size": "1",
    "vllm_enable_sleep_mode": "false", "max_num_seqs": "4", "kv_cache_memory_bytes": str(8 << 30),
    "cuda_graphs": "false", "logging_steps": "1", "dataset_split": "train[:8]",
}  # fmt: skip
VERSIONS = {
    "python": "3.10", "torch": "2.8.0", "vllm": "0.11.0", "trl": "0.26.0", "transformers": "4.57.1",
    "deepspeed": "0.18.2", "flash-attn": "2.8.3",
}  # fmt: skip


def dry_run(home: Home, name: str) -> list[list[str]]:
    """The words of each process that would be started, without the variables before them."""
    done = home.run("launch", str(PROFILES / f"{name}.toml"), "--dry-run")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = [shlex.split(lines[at + 1]) for at, line in enumerate(lines) if re.match(r"# (rank \d+|driver), in ", line)]
    return [[word for word in words if not re.match(r"[A-Z_]+=", word)] for words in found]


def profile(name: str) -> Profile:
    return load_profile(str(PROFILES / f"{name}.toml")).profile


def verdict(name: str, **changes: str) -> str:
    found = profile(name)
    if changes:
        words = (*found.launch.argv, *(f"{key}={value}" for key, value in changes.items()))
        object.__setattr__(found.launch, "argv", words)
    planned = planning.of_profile(found, planning.machine_of(found))
    assert planned.memory is not None
    assert not planned.mistakes
    return planned.memory.whole


@pytest.mark.parametrize("name", sorted(VERL))
def test_verl_gets_every_number_of_the_source(home: Home, name: str) -> None:
    (words,) = dry_run(home, name)
    found = overrides(words)
    assert {key: found.text(key) for key in VERL[name]} == VERL[name]
    assert words[words.index("-m") + 1] == "verl.trainer.main_ppo"
    if name != "verl-7b-8x80gb":
        start = ["uv", "run", "--frozen", "--all-packages", "--extra", "vllm", "--extra", "fsdp", "python3"]
        assert words[: len(start)] == start


@pytest.mark.parametrize("name", sorted(set(VERL) - {"verl-7b-8x80gb"}))
def test_no_setting_stands_there_that_the_source_has_not(home: Home, name: str) -> None:
    (words,) = dry_run(home, name)
    assert set(overrides(words)) - set(VERL[name]) == {"data.train_files", "data.val_files"}


def test_the_documented_override_is_the_last_word() -> None:
    words = profile("verl-qwen3-4b-4x32gb").launch.argv
    key = f"{ACTOR}fsdp_config.optimizer_offload"
    assert words[-1] == f"{key}=True"
    assert f"{key}=False" in words


@pytest.mark.parametrize(
    ("name", "expected", "cards"),
    [
        ("verl-qwen3-0.6b-4x32gb", "free", 4),
        ("verl-qwen3-1.7b-4x32gb", "comfortable", 4),
        ("verl-qwen3-4b-4x32gb", "tight", 4),
        ("verl-qwen3-8b-lora-4x32gb", "comfortable", 4),
        ("verl-7b-8x80gb", "comfortable", 8),
    ],
)
def test_each_is_planned_for_its_machine(home: Home, name: str, expected: str, cards: int) -> None:
    done = home.run("plan", str(PROFILES / f"{name}.toml"), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["memory"]["verdict"], found["memory"]["cards"]) == (0, expected, cards)
    assert {one["severity"] for one in found["batches"]["broken"]} <= {"information", "warning"}


def test_eight_billion_parameters_fit_with_an_adapter_only() -> None:
    assert verdict("verl-qwen3-8b-lora-4x32gb", **{"actor_rollout_ref.model.lora_rank": "0"}) == "does not fit"


def test_the_sums_of_the_sources() -> None:
    def facts(name: str) -> dict[str, str]:
        found = profile(name)
        return dict(planning.batches_of(found, planning.command_of(found)).facts)

    real = facts("verl-qwen3-1.7b-4x32gb")
    assert real["trajectories a step"] == "128 × 5 = 640"
    assert real["trajectories an update"] == "64 × 5 = 320"
    assert real["updates a step"] == "128 / 64 = 2"
    assert real["trajectories of an update on a card"] == "320 / 4 = 80"
    assert real["steps an epoch"].startswith("7473 / 128 = 58")
    assert profile("verl-qwen3-1.7b-4x32gb").expect.steps == 2 * 58
    assert facts("verl-7b-8x80gb")["updates a step"] == "1024 / 256 = 4"
    assert facts("trl-qwen3-1.7b-7gpu")["answers an optimizer step"] == "7 × 1 × 8 = 56"


def test_seven_ranks_of_trl_get_every_number_of_the_source(home: Home) -> None:
    ranks = dry_run(home, "trl-qwen3-1.7b-7gpu")
    assert len(ranks) == 7
    for words in ranks:
        found = options(words)
        assert {key: found.text(key) for key in TRL} == TRL
        assert found.text("deepspeed") == str(PROFILES / "trl_zero2_cpu_adam.json")
    known = profile("trl-qwen3-1.7b-7gpu")
    assert dict(known.versions) == VERSIONS
    assert (known.expect.steps, known.logs.logging_steps) == (2, 1)
    assert known.training["reference_batch"] == 32


def test_zero_2_with_adam_on_the_host() -> None:
    found = json.loads((PROFILES / "trl_zero2_cpu_adam.json").read_text())
    assert found["zero_optimization"]["stage"] == 2
    assert found["zero_optimization"]["offload_optimizer"]["device"] == "cpu"
    assert found["optimizer"]["type"] == "AdamW"
    training = profile("trl-qwen3-1.7b-7gpu").training
    assert (training["zero_stage"], training["cpu_adam"]) == (2, True)


def test_the_kv_cache_of_the_acceptance_run() -> None:
    found = profile("trl-qwen3-1.7b-7gpu")
    planned = planning.of_profile(found, parse_cards("7x80GB"))
    cache = cache_plan(planned.request, planned.memory)
    assert cache is not None
    assert (cache.need, cache.budget, cache.fits) == (8_279_556_096, 8 << 30, True)
    assert planned.memory is not None
    assert planned.memory.whole == "comfortable"
    assert planned.batches is not None
    assert [one.rule for one in planned.batches.broken] == ["not_the_reference_batch"]


class Engine:
    """What stands in for vLLM's class."""

    def __init__(self, *words: Any, **options: Any) -> None:
        self.told = (words, options)


def test_the_engine_gets_what_trl_does_not_hand_on() -> None:
    script = runpy.run_path(str(PROFILES / "trl_grpo.py"))
    own = SimpleNamespace(max_num_seqs=4, kv_cache_memory_bytes=8 << 30, cuda_graphs=False)
    made = script["limited"](Engine, script["limits"](own))("m", max_num_seqs=8, tensor_parallel_size=1)
    assert isinstance(made, Engine)
    assert made.told == (("m",), {
        "max_num_seqs": 4, "kv_cache_memory_bytes": 8 << 30, "tensor_parallel_size": 1,
        "compilation_config": {"cudagraph_mode": "NONE"},
    })  # fmt: skip
    assert script["limits"](SimpleNamespace(max_num_seqs=None, kv_cache_memory_bytes=None, cuda_graphs=True)) == {}
