"""The demo's policy: a softmax over eleven tokens whose logits are the sum of two rows of a table.

One row belongs to the column that is being added, one to the token written before: a bigram model with a
view of the prompt. It is small enough for pure Python, yet it samples, has exact log-probabilities and
entropy, and its gradient is written out below.
"""

from __future__ import annotations

import math
from operator import add
from typing import TYPE_CHECKING

from demo_task import COLUMNS, EOS, VOCABULARY

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from demo_task import Prompt

    Weights = list[float]
    Context = tuple[int, int]
    """Where the two rows of a token start in the weights."""

ROWS = COLUMNS + VOCABULARY + 1
"""Rows of the table: the columns, then the previous token, the last one for "nothing written yet"."""
SIZE = ROWS * VOCABULARY
"""Number of weights: row r is `weights[r * VOCABULARY : (r + 1) * VOCABULARY]`."""
WITH_END = 20
"""One in so many demonstrations to the base policy ends with EOS."""


def context(prompt: Prompt, tokens: Sequence[int], place: int) -> Context:
    """Find the rows that decide token number `place`, given the tokens before it."""
    column = prompt.columns[min(place, len(prompt.columns) - 1)]
    previous = tokens[place - 1] if place else VOCABULARY
    return column * VOCABULARY, (COLUMNS + previous) * VOCABULARY


def contexts(prompt: Prompt, tokens: Sequence[int]) -> list[Context]:
    """Find the rows of every token of an answer."""
    return [context(prompt, tokens, place) for place in range(len(tokens))]


def log_probs(weights: Weights, where: Context) -> list[float]:
    """Give the log-probability (nats) of each token of the vocabulary."""
    column, previous = where
    logits = list(map(add, weights[column : column + VOCABULARY], weights[previous : previous + VOCABULARY]))
    top = max(logits)
    log_sum = top + math.log(sum([math.exp(logit - top) for logit in logits]))
    return [logit - log_sum for logit in logits]


def add_score(target: Weights, where: Context, token: int, logs: Sequence[float], scale: float) -> None:
    """Add `scale * d log p(token) / d weights` to `target`.

    For a softmax that is (1 if v is the token, else 0) - p(v), in both rows that were summed.
    """
    slope = [-scale * math.exp(log) for log in logs]
    slope[token] += scale
    for start in where:
        target[start : start + VOCABULARY] = map(add, target[start : start + VOCABULARY], slope)


def sample(
    weights: Weights, prompt: Prompt, rng: random.Random, *, max_length: int, may_stop: bool = True
) -> list[int]:
    """Draw an answer: it ends with EOS, or is cut at `max_length` tokens.

    Without `may_stop` EOS is never drawn, as with `ignore_eos` of the inference engines.
    """
    choices = range(VOCABULARY if may_stop else EOS)
    tokens: list[int] = []
    while len(tokens) < max_length and (not tokens or tokens[-1] != EOS):
        logs = log_probs(weights, context(prompt, tokens, len(tokens)))
        tokens.append(rng.choices(choices, [math.exp(logs[choice]) for choice in choices])[0])
    return tokens


def greedy(weights: Weights, prompt: Prompt, *, max_length: int) -> list[int]:
    """Write the answer of the most likely tokens."""
    tokens: list[int] = []
    while len(tokens) < max_length and (not tokens or tokens[-1] != EOS):
        logs = log_probs(weights, context(prompt, tokens, len(tokens)))
        tokens.append(logs.index(max(logs)))
    return tokens


def base_policy(demonstrations: Sequence[Prompt], rate: float) -> Weights:
    """Learn a little from right answers, one gradient step a token.

    GRPO needs a base model that is right now and then: a group without one reward above the others
    teaches nothing. Most demonstrations lack their end, as running text does, so that the base model tends
    to run into the length limit. The same demonstrations give the same weights on every rank.
    """
    weights = [0.0] * SIZE
    for index, prompt in enumerate(demonstrations):
        end = len(prompt.answer) - (index % WITH_END != 0)
        for place, where in enumerate(contexts(prompt, prompt.answer[:end])):
            add_score(weights, where, prompt.answer[place], log_probs(weights, where), rate)
    return weights


class Adam:
    """Adam (arXiv:1412.6980) with the gradient's norm limited first; no weight decay."""

    BETAS = (0.9, 0.999)
    EPSILON = 1e-8

    def __init__(self, size: int, *, rate: float, max_norm: float) -> None:
        self.rate = rate
        self.max_norm = max_norm
        self._updates = 0
        self._mean = [0.0] * size
        self._square = [0.0] * size

    def update(self, weights: Weights, gradient: Sequence[float]) -> float:
        """Take one step downhill, in place.

        Returns:
            The L2 norm of the gradient before it was limited, which is what trainers print.
        """
        norm = math.sqrt(sum([slope * slope for slope in gradient]))
        shrink = min(1.0, self.max_norm / (norm + 1e-6))
        self._updates += 1
        first, second = self.BETAS
        rate = self.rate / (1 - first**self._updates)
        unbias = 1 / (1 - second**self._updates)
        for index, raw in enumerate(gradient):
            slope = raw * shrink
            mean = self._mean[index] = first * self._mean[index] + (1 - first) * slope
            square = self._square[index] = second * self._square[index] + (1 - second) * slope * slope
            weights[index] -= rate * mean / (math.sqrt(square * unbias) + self.EPSILON)
        return norm
