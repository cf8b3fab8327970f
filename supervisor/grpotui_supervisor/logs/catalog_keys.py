"""What the verl and Hugging Face families call the canonical metrics, and in which versions. Data only.

Where several keys are listed they belong to several versions or forks, and the first one present wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Key(NamedTuple):
    """A framework's own key of a canonical metric."""

    raw: str
    versions: str = ""
    """Which versions print it; empty: all that were looked at."""
    note: str = ""
    """How it differs from the metric's meaning, where it does."""
    divisor: float = 1.0
    """The canonical number is the printed one divided by this."""
    unit: str = ""
    """Where it is not the metric's own."""


Keys = dict[str, tuple[Key, ...]]
"""By canonical name."""


def keys(table: Mapping[str, tuple[str | Key, ...]]) -> Keys:
    """A table in which keys without remarks are plain words."""
    return {name: tuple(Key(key) if isinstance(key, str) else key for key in row) for name, row in table.items()}


VERL: Final = keys(
    {
        "score/mean": (Key("critic/score/mean", note="since 0.6 of the answers that were not aborted"),),
        "score/max": ("critic/score/max",),
        "score/min": ("critic/score/min",),
        "reward/mean": (
            "critic/rewards/mean",
            Key("reward/mean", "forks"),
            Key("episode/reward/mean", "verl-agent", "of an episode, not of an answer"),
        ),
        "reward/max": ("critic/rewards/max",),
        "reward/min": ("critic/rewards/min",),
        "advantage/max": ("critic/advantages/max",),
        "advantage/min": ("critic/advantages/min",),
        "kl/reference": (
            Key("actor/kl_loss", "0.2+", "KL as a part of the loss"),
            Key("actor/reward_kl_penalty", "0.4+", "KL as a part of the reward"),
            Key("critic/kl", "0.1-0.3", "KL as a part of the reward"),
        ),
        "kl/update": ("actor/ppo_kl",),
        "kl/mismatch": (Key("rollout_corr/kl", "0.6.1+"), Key("mismatch/kl", "0.6.0")),
        "entropy": (
            Key("actor/entropy", "0.4.1+"),
            Key("actor/entropy_loss", "0.1-0.4.0; 0.7.1+ beside actor/entropy", "it is the entropy all the same"),
        ),
        "clip_ratio": ("actor/pg_clipfrac",),
        "clip_ratio/low": (Key("actor/pg_clipfrac_lower", "0.4+", "dual clip"),),
        "length/mean": ("response_length/mean",),
        "length/max": ("response_length/max",),
        "length/truncated": (
            Key("response_length/clip_ratio", "0.2+", "0 where rollout.max_model_len, not the answer's limit, cuts"),
        ),
        "prompt/mean": ("prompt_length/mean",),
        "grad_norm": ("actor/grad_norm",),
        "learning_rate": ("actor/lr",),
        "loss/policy": ("actor/pg_loss",),
        "loss/value": ("critic/vf_loss",),
        "value/clip_ratio": ("critic/vf_clipfrac",),
        "value/explained_variance": (Key("critic/vf_explained_var", "0.2+"),),
        "time/generate": (
            Key("timing_s/gen", "0.2+", "`time/wait` for the V1 trainer of 0.9, which waits for others to generate"),
            Key("timing/gen", "0.1"),
        ),
        "time/reward": (Key("timing_s/reward", "0.4.1+"),),
        "time/logprob": (Key("timing_s/old_log_prob", "0.2+"), Key("timing/old_log_prob", "0.1")),
        "time/reference": (Key("timing_s/ref", "0.2+"), Key("timing/ref", "0.1")),
        "time/update": (Key("timing_s/update_actor", "0.2+"), Key("timing/update_actor", "0.1")),
        "time/sync": (
            Key("timing_s/update_weights", "0.7.1+"),
            Key("timing_s/sync_rollout_weights", "one step off"),
            Key("timing_s/param_sync", "fully async"),
        ),
        "time/validate": (
            Key("timing_s/testing", "0.2+", "outside time/step for the V1 trainer"),
            Key("timing/testing", "0.1"),
        ),
        "time/step": (Key("timing_s/step", "0.2+"), Key("perf/time_per_step", "0.3+")),
        "tokens_per_s": (Key("perf/throughput", "0.3+"),),
        "memory/allocated_max": (
            Key("perf/max_memory_allocated_gb", "0.3+"),
            Key("actor/perf/max_memory_allocated_gb", "0.8+ engine worker"),
        ),
        "memory/reserved_max": (
            Key("perf/max_memory_reserved_gb", "0.3+"),
            Key("actor/perf/max_memory_reserved_gb", "0.8+ engine worker"),
        ),
        "memory/cpu": (
            Key("perf/cpu_memory_used_gb", "0.3+"),
            Key("actor/perf/cpu_memory_used_gb", "0.8+ engine worker"),
        ),
        "epoch": (Key("training/epoch", "0.4+"),),
    }
)

TRL: Final = keys(
    {
        "reward/mean": (Key("reward", note="functions that returned None or NaN are left out without a word"),),
        "reward/std": ("reward_std",),
        "reward/zero_std_groups": (Key("frac_reward_zero_std", "0.18+"),),
        "kl/reference": (Key("kl", note="only with beta above 0, and its default is 0 since 0.19"),),
        "kl/mismatch": (
            Key("sampling/sampling_logp_difference/mean", "0.23+ with vLLM", "mean gap of log-probabilities, no KL"),
        ),
        "entropy": (
            Key("entropy", "0.20+", "mean over answers until 1.8, over tokens since"),
            Key("entropy/mean", "ms-swift"),
        ),
        "clip_ratio": (
            Key("clip_ratio/region_mean", "0.17+"),
            Key("clip_ratio", "0.16; Liger loss until 1.13"),
        ),
        "clip_ratio/low": (Key("clip_ratio/low_mean", "0.17+"),),
        "clip_ratio/high": (Key("clip_ratio/high_mean", "0.17+"),),
        "length/mean": (Key("completions/mean_length", "0.17+"), Key("completion_length", "0.14-0.16; Unsloth")),
        "length/max": (Key("completions/max_length", "0.17+"),),
        "length/truncated": (Key("completions/clipped_ratio", "0.17+"),),
        "tokens_total": (Key("num_tokens", "0.16+", "four digits since transformers 5"),),
        "grad_norm": ("grad_norm",),
        "learning_rate": ("learning_rate",),
        "loss": (Key("loss", note="the trainer hides a loss that is NaN: look at grad_norm"),),
        "loss/policy": (Key("policy_loss", "1.8+ with an entropy bonus"),),
        "time/step": (Key("step_time", "0.26+"), Key("train_speed(s/it)", "ms-swift", "mean since the start")),
        "memory/reserved_max": (Key("memory(GiB)", "ms-swift"),),
        "epoch": ("epoch",),
    }
)
"""Also what Unsloth, Axolotl and ms-swift print: the trainer under them is the same one."""
