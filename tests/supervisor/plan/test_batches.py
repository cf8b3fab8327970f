"""Batch arithmetic: the worked sums of the guides, every rule broken once with its numbers, the nearest values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.plan import lengths, trl_batches, verl_batches
from grpotui_supervisor.plan.batches import Batches, Broken, divisors_near, multiples_near
from grpotui_supervisor.plan.trl_batches import TrlBatches
from grpotui_supervisor.plan.verl_batches import VerlBatches

REAL = VerlBatches(
    gpus=4, train_batch_size=128, rollout_n=5, ppo_mini_batch_size=64, rows=7473, use_dynamic_bsz=True,
    ppo_max_token_len_per_gpu=3000, max_prompt_length=1024, max_response_length=1024,
)  # fmt: skip
SEVEN = TrlBatches(
    world_size=7, per_device_train_batch_size=1, gradient_accumulation_steps=8, num_generations=8, num_iterations=2,
    max_steps=2, reference_batch=32,
)  # fmt: skip


def rule(found: Batches, name: str) -> Broken:
    (one,) = (broken for broken in found.broken if broken.rule == name)
    return one


def verl(**changes: object) -> Batches:
    return verl_batches.check(replace(REAL, **changes))  # type: ignore[arg-type]


def trl(**changes: object) -> Batches:
    return trl_batches.check(replace(SEVEN, **changes))  # type: ignore[arg-type]


def test_the_sums_of_the_four_card_guide() -> None:
    found = verl()
    assert dict(found.facts) == {
        "trajectories a step": "128 × 5 = 640",
        "trajectories an update": "64 × 5 = 320",
        "updates a step": "128 / 64 = 2",
        "trajectories of an update on a card": "320 / 4 = 80",
        "steps an epoch": "7473 / 128 = 58 (the rest is dropped)",
    }
    advice = rule(found, "tokens_below_advice")
    assert advice.severity == found.severity == "information"
    assert "3000 < 2 × (1024 + 1024) = 4096" in advice.evidence


def test_four_updates_of_the_seven_billion_guide() -> None:
    sizes = VerlBatches(
        gpus=8, train_batch_size=1024, rollout_n=4, ppo_mini_batch_size=256, ppo_micro_batch_size_per_gpu=16
    )
    assert dict(verl_batches.check(sizes).facts)["updates a step"] == "1024 / 256 = 4"
    assert verl_batches.check(sizes).broken == ()


def test_the_seven_card_run_and_its_difference_from_the_paper() -> None:
    found = trl()
    assert dict(found.facts)["answers an optimizer step"] == "7 × 1 × 8 = 56"
    assert dict(found.facts)["prompts generated for at once"] == "56 / 8 = 7"
    assert "56 answers an optimizer step, where the reference has 32" in rule(found, "not_the_reference_batch").evidence
    assert found.severity == "information"


@pytest.mark.parametrize("found", [verl(rollout_n=1), trl(num_generations=1)])
def test_a_group_of_one_fails(found: Batches) -> None:
    assert rule(found, "group_of_one").severity == "failed"
    assert verl(rollout_n=1, advantage="gae").severity == "information"


@pytest.mark.parametrize(
    ("changes", "name", "evidence", "then"),
    [
        ({"ppo_mini_batch_size": 48}, "mini_batch_divides", "128 / ppo_mini_batch_size 48 = 2.67", "32 or 64"),
        ({"ppo_mini_batch_size": 256}, "mini_batch_too_large", "128 < ppo_mini_batch_size 256", "=128 or"),
        ({"gpus": 6}, "trajectories_divide", "640 trajectories / 6 = 106.67", "126 or 132"),
        ({"gpus": 6}, "mini_batch_per_card", "320 trajectories / 6 cards = 53.33", "60 or 66"),
        ({"gpus": 1024}, "mini_batch_vanishes", "320 trajectories for 1024 cards", "205 or more"),
        ({"tensor_parallel": 3}, "cards_divide", "4 GPUs / tensor_model_parallel_size 3 = 1.33", "2 or 4"),
        ({"use_dynamic_bsz": False}, "micro_batch_missing", "neither", "use_dynamic_bsz=True"),
        ({"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": 32}, "micro_batch_divides",
         "80 trajectories a card / ppo_micro_batch_size_per_gpu 32 = 2.50", "20 or 40"),
        ({"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": 8, "log_prob_micro_batch_size_per_gpu": 4},
         "smaller_than_training", "4 < ppo_micro_batch_size_per_gpu 8", "=16"),
        ({"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": 8, "critic_micro_batch_size_per_gpu": 4},
         "smaller_than_training", "critic ppo_micro_batch_size_per_gpu 4 < ", "=16"),
        ({"ppo_max_token_len_per_gpu": 2000}, "tokens_below_one_sequence", "2000", "2048 or more"),
        ({"old_keys": ("actor.ppo_micro_batch_size",)}, "old_key", "old name", "actor.ppo_micro_batch_size_per_gpu"),
    ],
)  # fmt: skip
def test_verl_s_rules(changes: dict[str, object], name: str, evidence: str, then: str) -> None:
    broken = rule(verl(**changes), name)
    assert evidence in broken.evidence
    assert then in broken.next


@pytest.mark.parametrize(
    ("changes", "name", "evidence", "then"),
    [
        ({"num_generations": 6}, "groups_divide", "56 answers generated at once / num_generations 6 = 9.33", "4 or 7"),
        ({"generation_batch_size": 60}, "generation_batch_divides", "60 / (1 × 7) = 8.57", "56 or 63"),
        ({"generation_batch_size": 56, "steps_per_generation": 8}, "both_given", "both set", "leave one"),
        ({"num_iterations": 4}, "iterations_unused", "4 > max_steps 2", "4 or more"),
    ],
)
def test_trl_s_rules(changes: dict[str, object], name: str, evidence: str, then: str) -> None:
    broken = rule(trl(**changes), name)
    assert evidence in broken.evidence
    assert then in broken.next


def test_lengths() -> None:
    (short,) = lengths.check(2048, 256, positions=40960, thinking=True)
    assert (short.rule, short.severity) == ("too_short_to_think", "warning")
    (long,) = lengths.check(2048, 16000, positions=4096, thinking=True)
    assert "2048 + answer 16000 = 18048 tokens, and the model has 4096 places" in long.evidence
    assert list(lengths.check(2048, 16000, positions=40960, thinking=True)) == []
    assert list(lengths.check(512, 256, positions=None, thinking=False)) == []


@given(st.integers(1, 10_000), st.integers(1, 500))
def test_the_nearest_values_work(value: int, of: int) -> None:
    assert all(one % of == 0 and abs(one - value) <= of for one in multiples_near(value, of))
    assert all(value % one == 0 for one in divisors_near(of, value))


SIZES = st.builds(
    VerlBatches, gpus=st.integers(1, 64), train_batch_size=st.integers(1, 2048), rollout_n=st.integers(1, 16),
    ppo_mini_batch_size=st.integers(0, 2048), ppo_micro_batch_size_per_gpu=st.none() | st.integers(0, 64),
    use_dynamic_bsz=st.booleans(), sequence_parallel=st.integers(1, 8), tensor_parallel=st.integers(1, 8),
)  # fmt: skip


@given(SIZES)
def test_no_numbers_raise(sizes: VerlBatches) -> None:
    assert all(one.evidence and one.next for one in verl_batches.check(sizes).broken)
