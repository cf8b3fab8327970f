"""The GRPO objective (arXiv:2402.03300) as verl computes it, on plain lists.

Averages are over all tokens of a batch (verl's `loss_agg_mode: token-mean`), so everything here returns sums:
they add up over ranks, and the caller divides once.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from demo_policy import add_score, contexts, log_probs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from demo_policy import Context, Weights
    from demo_task import Prompt

CLIP = 0.2
"""How far a probability ratio may move before its gradient is cut off (PPO's epsilon)."""
KL_COEF = 0.02
"""Weight of the KL term in the loss. verl's default is 0.001; more keeps this tiny policy from certainty."""
ADVANTAGE_EPSILON = 1e-4
"""Keeps a group of equal rewards at advantage 0 instead of 0 / 0."""


@dataclass
class Answer:
    """One sampled answer, with what the later phases find out about it. The lists have one entry a token."""

    prompt: Prompt
    tokens: list[int]
    reward: float = 0.0
    advantage: float = 0.0
    """Of the whole answer: every token of it gets the same."""
    old: list[float] = field(default_factory=list)
    """Log-probability (nats) under the policy that wrote it."""
    reference: list[float] = field(default_factory=list)
    """Log-probability (nats) under the frozen reference."""
    entropy: list[float] = field(default_factory=list)
    """Entropy (nats) of the distribution that each token was drawn from."""

    def contexts(self) -> list[Context]:
        """Find the table rows of each token."""
        return contexts(self.prompt, self.tokens)


class Sums(NamedTuple):
    """What one pass over some answers adds up to; each is a sum over tokens."""

    tokens: float
    pg_loss: float
    kl: float
    """k3 estimate of KL(policy, reference)."""
    ppo_kl: float
    """Old log-probability minus new: how far the updates of this step have come."""
    clipped: float
    """Tokens whose gradient was cut off."""


def group_advantages(rewards: Sequence[float]) -> list[float]:
    """Compare each reward with its group: (r - mean) / (s + 1e-4), s with n - 1 in the denominator."""
    mean = statistics.fmean(rewards)
    scale = statistics.stdev(rewards, mean) + ADVANTAGE_EPSILON
    return [(reward - mean) / scale for reward in rewards]


def k3(log: float, reference: float) -> float:
    """Estimate KL(policy, reference) from one token drawn by the policy.

    r - 1 - log r with r = reference / policy: unbiased, never negative, low variance
    (http://joschu.net/blog/kl-approx.html). Its slope in `log` is 1 - r.
    """
    ratio = reference - log
    return math.expm1(ratio) - ratio


def entropy(logs: Sequence[float]) -> float:
    """Give the entropy (nats) of a distribution from its log-probabilities."""
    return -sum([math.exp(log) * log for log in logs])


def chosen(weights: Weights, answer: Answer) -> list[float]:
    """Give the log-probability of each token that was written."""
    return [log_probs(weights, where)[answer.tokens[place]] for place, where in enumerate(answer.contexts())]


def surrogate(log: float, old: float, advantage: float) -> tuple[float, float, bool]:
    """Compute PPO's clipped loss of one token: max(-A r, -A clip(r, 1 - e, 1 + e)), r = new / old.

    Returns:
        The loss, its slope in `log`, and whether clipping cut that slope to 0.
    """
    ratio = math.exp(log - old)
    free = -advantage * ratio
    held = -advantage * min(max(ratio, 1 - CLIP), 1 + CLIP)
    return (held, 0.0, True) if held > free else (free, free, False)


def accumulate(weights: Weights, answers: Sequence[Answer], gradient: Weights) -> Sums:
    """Add the loss's gradient, summed over the tokens of `answers`, to `gradient`."""
    tokens = pg_loss = kl = ppo_kl = clipped = 0.0
    for answer in answers:
        for place, where in enumerate(answer.contexts()):
            token, old, reference = answer.tokens[place], answer.old[place], answer.reference[place]
            logs = log_probs(weights, where)
            log = logs[token]
            loss, slope, cut = surrogate(log, old, answer.advantage)
            add_score(gradient, where, token, logs, slope + KL_COEF * (1 - math.exp(reference - log)))
            tokens += 1
            pg_loss += loss
            kl += k3(log, reference)
            ppo_kl += old - log
            clipped += cut
    return Sums(tokens, pg_loss, kl, ppo_kl, clipped)
