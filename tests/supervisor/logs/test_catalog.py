import json

import pytest
from support.log_oracle import DATA

from grpotui_supervisor.logs.catalog import METRICS, VERL_V1_KEY, canonical, unit


def test_names_are_unique() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))


def test_the_first_key_present_wins() -> None:
    assert canonical("verl", {"actor/entropy_loss": 1.0}) == {"entropy": 1.0}
    assert canonical("verl", {"actor/entropy_loss": 1.0, "actor/entropy": 2.0}) == {"entropy": 2.0}


def test_score_and_reward_are_two_metrics() -> None:
    row = {"critic/score/mean": 0.5, "critic/rewards/mean": 0.4, "critic/rewards/max": 1.0}
    assert canonical("verl", row) == {"score/mean": 0.5, "reward/mean": 0.4, "reward/max": 1.0}


def test_three_kinds_of_kl_are_three_metrics() -> None:
    row = {"actor/kl_loss": 0.1, "actor/ppo_kl": 0.2, "rollout_corr/kl": 0.3}
    assert canonical("verl", row) == {"kl/reference": 0.1, "kl/update": 0.2, "kl/mismatch": 0.3}


def test_the_v1_trainer_of_verl_waits_for_samples() -> None:
    assert canonical("verl", {"timing_s/gen": 3.0}) == {"time/generate": 3.0}
    assert canonical("verl", {"timing_s/gen": 3.0, VERL_V1_KEY: 0.0}) == {"time/wait": 3.0}


@pytest.mark.parametrize("key", ["val-core/openai/gsm8k/reward/mean@1", "val/openai/gsm8k/reward/mean@1"])
def test_validation_of_verl(key: str) -> None:
    assert canonical("verl", {key: 0.5}) == {"val/openai/gsm8k/reward/mean@1": 0.5}


def test_parts_of_the_reward_in_trl() -> None:
    row = {"rewards/org/model/mean": 0.5, "rewards/org/model/std": 0.1, "rewards/old_style": 0.25}
    assert canonical("trl", row) == {"reward/part/org/model": 0.5, "reward/part/old_style": 0.25}


def test_an_absent_metric_and_an_unknown_framework_give_nothing() -> None:
    assert canonical("trl", {"never/heard/of": 1.0, "val/x": 1.0}) == {}
    assert canonical("unheard-of", {"reward": 1.0, "loss": 0.0}) == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("time/step", "s"),
        ("length/mean", "tokens"),
        ("kl/reference", "nats"),
        ("clip_ratio", "share"),
        ("memory/cpu", "GiB"),
        ("reward/part/letters", "points"),
        ("val/gsm8k", ""),
        ("loss", ""),
        ("unheard-of", ""),
    ],
)
def test_units(name: str, expected: str) -> None:
    assert unit(name) == expected


@pytest.mark.parametrize(("framework", "family"), [("verl", "verl-family"), ("trl", "hf-trainer")])
def test_the_table_holds_what_the_reference_says(framework: str, family: str) -> None:
    reference = DATA.parent / "reference" / "canonical.json"
    if not reference.exists():
        pytest.skip("the reference tables are not beside this checkout")
    for name, keys in json.loads(reference.read_text())[family].items():
        ours = next((getattr(metric, framework) for metric in METRICS if metric.name == name), ())
        own = [key for key in keys if key in ours]  # a family lists the keys of its forks too
        assert own == list(ours)[: len(own)]
        assert own or name == "step"
