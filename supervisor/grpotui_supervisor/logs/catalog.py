"""Canonical metric names: what each framework calls them, and their units.

The canonical name is what the screen and JSON show; the framework's own key stays available beside it. A
metric that a framework does not print is absent. Where several keys are listed they belong to several
versions, and the first one present wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Metric(NamedTuple):
    """One canonical metric and its keys per framework; empty where that framework's log does not print it."""

    name: str
    unit: str
    verl: tuple[str, ...] = ()
    trl: tuple[str, ...] = ()


METRICS: Final = (
    # score is before the KL penalty, reward after it, or the framework's only one
    Metric("score/mean", "points", ("critic/score/mean",)),
    Metric("score/max", "points", ("critic/score/max",)),
    Metric("score/min", "points", ("critic/score/min",)),
    Metric("reward/mean", "points", ("critic/rewards/mean",), ("reward",)),
    Metric("reward/std", "points", (), ("reward_std",)),
    Metric("reward/max", "points", ("critic/rewards/max",)),
    Metric("reward/min", "points", ("critic/rewards/min",)),
    Metric("reward/zero_std_groups", "share", (), ("frac_reward_zero_std",)),
    Metric("advantage/max", "", ("critic/advantages/max",)),
    Metric("advantage/min", "", ("critic/advantages/min",)),
    # three kinds: policy against reference model, new against old policy, trainer against rollout engine
    Metric("kl/reference", "nats", ("actor/kl_loss", "actor/reward_kl_penalty", "critic/kl"), ("kl",)),
    Metric("kl/update", "nats", ("actor/ppo_kl",)),
    Metric(
        "kl/mismatch",
        "nats",
        ("rollout_corr/kl", "mismatch/kl"),
        ("sampling/sampling_logp_difference/mean",),
    ),
    Metric("entropy", "nats", ("actor/entropy", "actor/entropy_loss"), ("entropy",)),
    Metric("clip_ratio", "share", ("actor/pg_clipfrac",), ("clip_ratio/region_mean", "clip_ratio")),
    Metric("clip_ratio/low", "share", ("actor/pg_clipfrac_lower",), ("clip_ratio/low_mean",)),
    Metric("clip_ratio/high", "share", (), ("clip_ratio/high_mean",)),
    Metric(
        "length/mean",
        "tokens",
        ("response_length/mean",),
        ("completions/mean_length", "completion_length"),
    ),
    Metric("length/max", "tokens", ("response_length/max",), ("completions/max_length",)),
    Metric("length/truncated", "share", ("response_length/clip_ratio",), ("completions/clipped_ratio",)),
    Metric("prompt/mean", "tokens", ("prompt_length/mean",)),
    Metric("tokens_total", "tokens", (), ("num_tokens",)),
    Metric("grad_norm", "", ("actor/grad_norm",), ("grad_norm",)),
    Metric("learning_rate", "", ("actor/lr",), ("learning_rate",)),
    Metric("loss", "", (), ("loss",)),
    Metric("loss/policy", "", ("actor/pg_loss",), ("policy_loss",)),
    Metric("loss/value", "", ("critic/vf_loss",)),
    Metric("value/clip_ratio", "share", ("critic/vf_clipfrac",)),
    Metric("value/explained_variance", "", ("critic/vf_explained_var",)),
    Metric("time/generate", "s", ("timing_s/gen", "timing/gen")),  # or `time/wait`: see VERL_V1_KEY
    Metric("time/wait", "s"),
    Metric("time/reward", "s", ("timing_s/reward",)),
    Metric("time/logprob", "s", ("timing_s/old_log_prob", "timing/old_log_prob")),
    Metric("time/reference", "s", ("timing_s/ref", "timing/ref")),
    Metric("time/update", "s", ("timing_s/update_actor", "timing/update_actor")),
    Metric(
        "time/sync",
        "s",
        ("timing_s/update_weights", "timing_s/sync_rollout_weights", "timing_s/param_sync"),
    ),
    Metric("time/validate", "s", ("timing_s/testing", "timing/testing")),
    Metric("time/step", "s", ("timing_s/step", "perf/time_per_step"), ("step_time",)),
    Metric("tokens_per_s", "tokens/s/GPU", ("perf/throughput",)),
    # verl's `_gb` divides by 1024**3
    Metric(
        "memory/allocated_max",
        "GiB",
        ("perf/max_memory_allocated_gb", "actor/perf/max_memory_allocated_gb"),
    ),
    Metric(
        "memory/reserved_max",
        "GiB",
        ("perf/max_memory_reserved_gb", "actor/perf/max_memory_reserved_gb"),
    ),
    Metric("memory/cpu", "GiB", ("perf/cpu_memory_used_gb", "actor/perf/cpu_memory_used_gb")),
    # from the engine's own endpoint, never from a trainer's log
    Metric("engine/kv_cache", "share"),
    Metric("engine/running", "requests"),
    Metric("engine/waiting", "requests"),
    Metric("engine/preemptions", "requests"),
    Metric("engine/tokens_per_s", "tokens/s"),
    Metric("epoch", "epochs", ("training/epoch",), ("epoch",)),
)

OPEN_UNITS: Final = (("reward/part/", "points"), ("val/", ""))
"""Names that end in one of the run's own: a reward function, a validation set."""

VERL_V1_KEY: Final = "training/off_policy/trajectory_staleness/mean"
"""Printed at every step by verl 0.9's V1 trainer only, whose `timing_s/gen` is waiting for samples."""

_KEYS: Final = {
    "verl": tuple((metric.name, metric.verl) for metric in METRICS if metric.verl),
    "trl": tuple((metric.name, metric.trl) for metric in METRICS if metric.trl),
}
_UNITS: Final = {metric.name: metric.unit for metric in METRICS}


def canonical(framework: str, row: Mapping[str, float]) -> dict[str, float]:
    """The canonical metrics of one row of raw ones; what has no canonical name is left out.

    Empty for a framework that has no table.
    """
    found: dict[str, float] = {}
    for name, keys in _KEYS.get(framework, ()):
        key = next((key for key in keys if key in row), None)
        if key is not None:
            found[name] = row[key]
    if framework == "verl" and VERL_V1_KEY in row and "time/generate" in found:
        found["time/wait"] = found.pop("time/generate")
    if framework in _KEYS:
        found.update(_validation(row) if framework == "verl" else _reward_parts(row))
    return found


def unit(name: str) -> str:
    """The unit of a canonical metric; empty for a bare number and for a name that is not canonical."""
    known = _UNITS.get(name)
    if known is not None:
        return known
    return next((unit for prefix, unit in OPEN_UNITS if name.startswith(prefix)), "")


def _validation(row: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """`val-core/<set>/<variable>/mean@N` since verl 0.4, `val/...` before."""
    for key, value in row.items():
        if key.startswith(("val-core/", "val/")):
            yield "val/" + key.partition("/")[2], value


def _reward_parts(row: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """`rewards/<function>/mean` since TRL 0.17, `rewards/<function>` before; a name may hold slashes."""
    for key, value in row.items():
        if key.startswith("rewards/") and not key.endswith("/std"):
            yield "reward/part/" + key.removeprefix("rewards/").removesuffix("/mean"), value
