"""Metrics that some versions are known to print wrongly, or with another meaning than the catalogue's. Data only."""

from __future__ import annotations

from typing import Final, NamedTuple

VERL_V1_KEY: Final = "training/off_policy/trajectory_staleness/mean"
"""Printed at every step by verl 0.9's V1 trainer only."""


class Doubt(NamedTuple):
    """Why a metric is not to be trusted, and in which logs.

    It applies when every condition that is set holds. Where the version is not known, a condition on it holds if one
    of the keys in `told_by` is printed, or if `unknown_too` is set.
    """

    framework: str
    metric: str
    reason: str
    """Shown beside the number."""
    since: str = ""
    """First version it applies to."""
    before: str = ""
    """First version it no longer applies to."""
    when: tuple[str, ...] = ()
    """The log prints one of these keys."""
    unless: tuple[str, ...] = ()
    """The log prints none of these keys."""
    told_by: tuple[str, ...] = ()
    """Keys that only these versions print."""
    unknown_too: bool = False
    """Also where the version is not known."""


_THREE_DECIMALS: Final = "printed with three decimals until verl 0.4: what is below 0.0005 reads 0"
_IN_GROUPS: Final = "mean of the standard deviations in each group until TRL 0.26, not of the whole batch"
_TWO_DECIMALS: Final = "printed with two decimals: from 0.00001 to 0.005 it reads 0.00"

DOUBTS: Final = (  # of several that apply to one metric the last one counts
    Doubt(
        "verl",
        "length/truncated",
        "the V1 trainer compares with the batch's longest answer, not with the limit: never 0, even where none was cut",
        since="0.9",
        when=(VERL_V1_KEY,),
        told_by=(VERL_V1_KEY,),
    ),
    *(
        Doubt(
            "verl", metric, _THREE_DECIMALS, before="0.5", told_by=("timing/gen", "timing/update_actor", "timing/adv")
        )
        for metric in ("learning_rate", "kl/reference", "kl/update")
    ),
    Doubt(
        "trl",
        "reward/std",
        "in each group until TRL 0.26, over the whole batch since 0.27; this log does not tell its version",
        before="0",  # no version that is known
        unknown_too=True,
    ),
    Doubt("trl", "reward/std", _IN_GROUPS, before="0.27"),
    Doubt(
        "trl",
        "reward/std",
        _IN_GROUPS,
        before="0.17",
        unless=("completions/mean_length",),
        told_by=("completion_length",),
    ),
    Doubt(
        "openrlhf",
        "reward/std",
        "mean of the standard deviations in each group, not of the whole batch",
        when=("group_reward_std",),
        unless=("rollout/reward_std",),
    ),
    Doubt(
        "areal",
        "kl/reference",
        "the penalty added to the reward, which is minus the coefficient times the KL",
    ),
    Doubt(
        "areal",
        "length/mean",
        "with the prompt: this log does not print the prompt's length",
        unless=("ppo_actor/prompt_len/avg",),
    ),
    Doubt(
        "roll",
        "time/step",
        "of the step before: the pipeline adds it when the next step begins",
        unless=("rollout/score/mean", "time/step_rollout"),
    ),
    Doubt(
        "skyrl",
        "learning_rate",
        "printed with four decimals: what is below 0.00005 reads 0",
        when=("policy/policy_lr",),
    ),
    *(Doubt("open-instruct", metric, _TWO_DECIMALS) for metric in ("kl/reference", "clip_ratio", "learning_rate")),
)
