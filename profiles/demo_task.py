"""The demo's task: add two numbers of one to three digits and write the sum backwards.

Backwards, because then one column of the sum is enough to decide the next digit (arXiv:2307.03381 teaches
addition to small transformers this way). An answer has one to four digits and a stop token, so lengths and
truncation are real. Whether it is right can be computed: a verifiable reward, as GRPO wants it.
"""

from __future__ import annotations

import random
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

EOS = 10
"""The token that ends an answer; tokens 0 to 9 are the digits."""
VOCABULARY = 11
BLANK = 10
"""Stands for the digit of an operand that has none in this column."""
COLUMNS = 11 * 11 * 2
"""Different columns: a digit or blank in either operand, with or without a carry."""
DIGITS = 3
"""Of an operand, at most."""
TRAINING_PROMPTS = 8000
VALIDATION_PROMPTS = 400


class Prompt(NamedTuple):
    """One question."""

    text: str
    """As a person writes it, one token a character: `7+15=`."""
    columns: tuple[int, ...]
    """What the policy sees when it writes token t, in [0, COLUMNS). The last one holds for all later tokens."""
    answer: tuple[int, ...]
    """The right tokens, least significant digit first, EOS at the end: 22 is (2, 2, EOS)."""


def backwards(number: int) -> list[int]:
    """Give the decimal digits of a number, least significant first."""
    return [int(digit) for digit in reversed(str(number))]


def ask(left: int, right: int) -> Prompt:
    """Make the prompt for `left + right`."""
    answer = [*backwards(left + right), EOS]
    columns = []
    carry = 0
    for place in range(len(answer)):
        upper, lower = (
            digits[place] if place < len(digits) else BLANK for digits in (backwards(left), backwards(right))
        )
        columns.append((upper * 11 + lower) * 2 + carry)
        carry = int(upper % 10 + lower % 10 + carry > 9)  # BLANK counts as 0
    return Prompt(f"{left}+{right}=", tuple(columns), tuple(answer))


def dataset(seed: int) -> tuple[list[Prompt], list[Prompt]]:
    """Draw prompts to train on and, none of them the same, prompts to validate with; alike on every rank."""
    rng = random.Random(f"{seed}/dataset")
    pairs: dict[tuple[int, int], None] = {}  # a set would not keep the order
    while len(pairs) < TRAINING_PROMPTS + VALIDATION_PROMPTS:
        pairs[operand(rng), operand(rng)] = None
    prompts = [ask(left, right) for left, right in pairs]
    rng.shuffle(prompts)  # small numbers come up early, and must be in both parts
    return prompts[VALIDATION_PROMPTS:], prompts[:VALIDATION_PROMPTS]


def operand(rng: random.Random) -> int:
    """Draw a number, short ones as often as long ones."""
    return rng.randrange(10 ** rng.randint(1, DIGITS))


def reward(tokens: Sequence[int], answer: Sequence[int]) -> float:
    """Score an answer: 1 if it is right, else up to 0.5 for the share of tokens in their right place."""
    right = sum(map(eq, tokens, answer))
    longest = max(len(tokens), len(answer))
    return 1.0 if right == longest else 0.5 * right / longest
