"""The checks that calculate: batches, lengths, and the memory plan on the cards that are there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.fake_gpus import gpu
from support.gpu_machine import GpuMachine
from support.preflight_jobs import RANKS, VERL, job_of, result_in_child

from grpotui_supervisor.plan.lengths import thinks
from grpotui_supervisor.preflight import batches, lengths, memory_plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grpotui_supervisor.preflight.check import Result

SMALL = (
    *VERL, "algorithm.adv_estimator=grpo", "data.train_batch_size=128",
    "actor_rollout_ref.model.path=Qwen/Qwen3-1.7B-Base", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=4096",
    "actor_rollout_ref.actor.ppo_mini_batch_size=64", "actor_rollout_ref.rollout.n=5", "trainer.n_gpus_per_node=4",
    "actor_rollout_ref.actor.use_dynamic_bsz=True", "data.max_prompt_length=512", "data.max_response_length=1024",
    "actor_rollout_ref.rollout.tensor_model_parallel_size=1", "actor_rollout_ref.rollout.gpu_memory_utilization=0.4",
)  # fmt: skip
CONFIG = {
    "model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 4096,
}  # fmt: skip
CARD = str(32 * 10**9)
BASE = "[model]\npath = 'Qwen/Qwen3-1.7B'\nthinking = false\n"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[GpuMachine]:
    found = GpuMachine(tmp_path / "gpus", count=4)
    found.fake.write([gpu(index, mem__total=CARD) for index in range(4)])
    yield found
    found.clean()


def planned(machine: GpuMachine, tmp_path: Path, *words: str, more: str = BASE, **env: str) -> Result:
    return result_in_child("memory_plan", tmp_path / "job", *words, env={**machine.env, **env}, more=more)


def test_batches_are_told_with_their_sums(tmp_path: Path) -> None:
    found = batches.CHECK.run(job_of(tmp_path, *SMALL, more="[data]\nrows = 7473\n"))
    assert found.outcome == "passed"
    for words in ("128 × 5 = 640", "64 × 5 = 320", "128 / 64 = 2", "320 / 4 = 80", "7473 / 128 = 58"):
        assert words in found.evidence
    assert found.data["facts"]["updates a step"] == "128 / 64 = 2"


def test_a_broken_rule_is_shown_with_its_numbers_and_the_nearest_values(tmp_path: Path) -> None:
    found = batches.CHECK.run(
        job_of(tmp_path, *SMALL, "actor_rollout_ref.actor.ppo_mini_batch_size=50", "trainer.n_gpus_per_node=8")
    )
    assert (found.outcome, found.data["broken"][0]["rule"]) == ("failed", "mini_batch_per_card")
    assert "50 × n 5 = 250 trajectories / 8 cards = 31.25" in found.evidence
    assert found.next == "ppo_mini_batch_size=48 or 56"
    assert any("128 / ppo_mini_batch_size 50 = 2.56" in line for line in found.details)


def test_a_cautious_choice_is_a_note_and_passes(tmp_path: Path) -> None:
    found = batches.CHECK.run(job_of(tmp_path, *SMALL, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=3000"))
    assert found.outcome == "passed"
    assert any(
        line.startswith("note: ppo_max_token_len_per_gpu 3000 < 2 × (512 + 1024) = 3072") for line in found.details
    )


def test_a_group_of_one_fails(tmp_path: Path) -> None:
    found = batches.CHECK.run(job_of(tmp_path, *SMALL, "actor_rollout_ref.rollout.n=1"))
    assert found.outcome == "failed"
    assert "every advantage is 0" in found.evidence


def test_seven_ranks_of_trl_against_a_reference(tmp_path: Path) -> None:
    words = (
        "t.py",
        "--per_device_train_batch_size",
        "1",
        "--gradient_accumulation_steps",
        "8",
        "--num_generations",
        "8",
    )
    found = batches.CHECK.run(job_of(tmp_path, *words, mode=RANKS % 7, more="[training]\nreference_batch = 32\n"))
    assert found.outcome == "passed"
    assert "7 × 1 × 8 = 56" in found.evidence
    assert any("56 answers an optimizer step, where the reference has 32" in line for line in found.details)


def test_a_misspelled_setting_is_told(tmp_path: Path) -> None:
    found = batches.CHECK.run(job_of(tmp_path, "t.py", "--use_vllm", more="[training]\nnum_generation = 8\n"))
    assert any("did you mean 'num_generations'?" in line for line in found.details)


@pytest.mark.parametrize("check", [batches.CHECK, lengths.CHECK, memory_plan.CHECK])
def test_a_script_of_ones_own_is_not_judged(tmp_path: Path, check: batches._Batches) -> None:
    assert check.run(job_of(tmp_path, "train.py", "--steps", "10")).outcome == "not_applicable"


def test_lengths_within_the_models_positions(tmp_path: Path) -> None:
    found = lengths.CHECK.run(job_of(tmp_path, *SMALL, more=BASE))
    assert (found.outcome, found.evidence) == ("passed", "longest sequence: prompt 512 + answer 1024 = 1536 tokens")
    long = lengths.CHECK.run(job_of(tmp_path, *SMALL, "data.max_response_length=40960", more=BASE))
    assert long.outcome == "failed"
    assert "prompt 512 + answer 40960 = 41472 tokens, and the model has 40960 places" in long.evidence
    assert "40448 tokens at most" in str(long.next)


def test_a_limit_too_short_for_a_model_that_thinks(tmp_path: Path) -> None:
    """Told by the name; not of its base model, nor where its chat template is told not to."""
    words = ("t.py", "--max_completion_length", "256", "--max_prompt_length", "2048", "--model_name_or_path")
    found = lengths.CHECK.run(job_of(tmp_path, *words, "Qwen/Qwen3-1.7B", mode=RANKS % 7))
    assert found.outcome == "warning"
    assert "answers of 256 tokens at most" in found.evidence
    told = lengths.CHECK.run(job_of(tmp_path, *words, "Qwen/Qwen3-1.7B", more="[model]\nthinking = false\n"))
    assert told.outcome == "passed"
    off = "data.apply_chat_template_kwargs.enable_thinking=False"
    verl = ("actor_rollout_ref.model.path=Qwen/Qwen3-0.6B", "data.max_response_length=512")
    assert lengths.CHECK.run(job_of(tmp_path, *VERL, *verl)).outcome == "warning"
    assert lengths.CHECK.run(job_of(tmp_path, *VERL, *verl, off)).outcome == "passed"


@pytest.mark.parametrize(
    ("name", "does"),
    [
        ("Qwen/Qwen3-1.7B", True), ("/models/Qwen3-30B-A3B/", True), ("Qwen/Qwen3-4B-Thinking-2507", True),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", True), ("Qwen/QwQ-32B", True), ("Qwen/Qwen3-1.7B-Base", False),
        ("Qwen/Qwen3-4B-Instruct-2507", False), ("Qwen/Qwen2.5-7B", False), ("rethinking-llama", False),
    ],
)  # fmt: skip
def test_who_thinks_before_an_answer(name: str, does: bool) -> None:
    assert thinks(name) is does


def test_an_engine_with_a_shorter_limit(tmp_path: Path) -> None:
    """verl reports no answer as cut then."""
    found = lengths.CHECK.run(job_of(tmp_path, *SMALL, "actor_rollout_ref.rollout.max_model_len=1024", more=BASE))
    assert found.outcome == "warning"
    assert "512 + answer 1024 = 1536 tokens, and the engine takes 1024" in found.evidence
    trl = ("t.py", "--use_vllm", "--max_completion_length", "1000", "--vllm_max_model_length", "900")
    assert lengths.CHECK.run(job_of(tmp_path, *trl, more=BASE)).outcome == "warning"
    assert lengths.CHECK.run(job_of(tmp_path, *trl[:-1], "1000", more=BASE)).outcome == "passed"


def test_a_model_in_the_hubs_cache_is_known(tmp_path: Path) -> None:
    place = tmp_path / "hf/hub/models--someone--new-model"
    (place / "snapshots/abc").mkdir(parents=True)
    (place / "snapshots/old").mkdir()
    (place / "refs").mkdir()
    (place / "refs/main").write_text("abc")
    (place / "snapshots/abc/config.json").write_text(json.dumps(CONFIG))
    words = (*VERL, "actor_rollout_ref.model.path=someone/new-model", "data.max_response_length=4000")
    found = lengths.CHECK.run(job_of(tmp_path / "job", *words, env={"HF_HOME": str(tmp_path / "hf")}))
    assert found.outcome == "failed"
    assert "512 + answer 4000 = 4512 tokens, and the model has 4096 places" in found.evidence


def test_lengths_of_an_unknown_model_are_not_called_good(tmp_path: Path) -> None:
    found = lengths.CHECK.run(job_of(tmp_path, *VERL, "actor_rollout_ref.model.path=someone/new-model"))
    assert found.outcome == "unchecked"
    assert "someone/new-model" in found.evidence
    assert "config.json" in str(found.next)


def test_the_plan_is_made_for_the_cards_that_are_there(machine: GpuMachine, tmp_path: Path) -> None:
    found = planned(machine, tmp_path, *SMALL)
    assert (found.outcome, found.data["verdict"]) == ("passed", "comfortable")
    assert (found.data["cards"], found.data["card_bytes"]) == (4, 32 * 10**9)
    assert "on this machine's 4 of 32.0 GB (29.8 GiB)" in found.evidence
    assert len(found.details) >= 2


def test_what_does_not_fit_fails_and_says_what_to_change(machine: GpuMachine, tmp_path: Path) -> None:
    found = planned(machine, tmp_path, *SMALL, more="[model]\npath = 'Qwen/Qwen3-8B'\n")
    assert (found.outcome, found.data["verdict"]) == ("failed", "does not fit")
    assert "optimizer_offload" in str(found.next)


def test_an_engine_that_has_no_room_for_a_cache(machine: GpuMachine, tmp_path: Path) -> None:
    """0.4 of 32 GB are 12.8 GB, and eight billion parameters in bf16 16.4 GB: vLLM would not start, adapter or not."""
    words = (*SMALL, "actor_rollout_ref.model.lora_rank=32")
    found = planned(machine, tmp_path, *words, more="[model]\npath = 'Qwen/Qwen3-8B'\n")
    assert found.outcome == "failed"
    assert "the share 0.4 of 32.0 GB less 16.4 GB of weights is 0 GB for the KV cache" in found.evidence
    assert "tensor parallelism above 1" in str(found.next)
    two = planned(machine, tmp_path, *words, "actor_rollout_ref.rollout.tensor_model_parallel_size=2",
                  more="[model]\npath = 'Qwen/Qwen3-8B'\n")  # fmt: skip
    assert (two.outcome, two.data["verdict"]) == ("passed", "comfortable")


def test_a_shape_from_the_folder_of_the_model(machine: GpuMachine, tmp_path: Path) -> None:
    folder = tmp_path / "job" / "mine"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    found = planned(machine, tmp_path, *SMALL, more="[model]\npath = 'mine'\n")
    assert found.outcome == "passed", found


def test_an_unknown_model_is_unchecked_with_what_is_missing(machine: GpuMachine, tmp_path: Path) -> None:
    found = planned(machine, tmp_path, *VERL, "actor_rollout_ref.model.path=someone/new-model", more="")
    assert found.outcome == "unchecked"
    assert "no config.json there or in the hub's cache" in found.evidence
    assert "Qwen/Qwen3-4B" in str(found.next)


def test_a_run_without_gpus_has_no_memory_plan(machine: GpuMachine, tmp_path: Path) -> None:
    assert planned(machine, tmp_path, *SMALL, CUDA_VISIBLE_DEVICES="").outcome == "not_applicable"


def test_cards_that_cannot_be_read(tmp_path: Path) -> None:
    """Then the profile's word on its cards is what is planned for, and without it nothing is."""
    job = job_of(tmp_path, *SMALL, more=BASE, env={"CUDA_VISIBLE_DEVICES": "0"})
    if memory_plan.CHECK.run(job).outcome == "not_applicable":
        pytest.skip("this machine has GPUs")
    found = memory_plan.CHECK.run(job)
    assert found.outcome == "unchecked"
    assert "[gpus] cards" in found.evidence
    known = memory_plan.CHECK.run(job_of(tmp_path, *SMALL, more=BASE + "[gpus]\ncards = '4x32GB'\n"))
    assert (known.outcome, known.data["verdict"]) == ("passed", "comfortable")
    assert "cannot be read" in known.evidence
