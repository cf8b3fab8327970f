"""Lengths of prompts and answers against the model, and against what such answers need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.plan.batches import Broken

if TYPE_CHECKING:
    from collections.abc import Iterator

THINKING_TOKENS: Final = 1024
"""Qwen3 with thinking on: 56 answers to grade-school and olympiad problems had 663 to 12,504 tokens; with a limit of
256 every one of them was cut and every advantage was 0."""

_THINKERS: Final = re.compile(
    r"(?i)(?:^|/)(?:qwen3-[0-9.]+b(?:-a[0-9.]+b)?|qwq-.*|deepseek-r1.*|.*[-_]thinking(?:-.*)?)/?$"
)
"""Qwen3 before its 2507 versions thinks unless its chat template is told not to; its base models do not."""


def thinks(name: str) -> bool:
    """Whether a model of this name, or in a folder of this name, is known to think before it answers."""
    return _THINKERS.search(name) is not None


def check(
    prompt: int, response: int, *, positions: int | None, thinking: bool, engine: int | None = None
) -> Iterator[Broken]:
    """`positions`: the longest sequence of the model; `engine`: of the rollout engine; None where that is not known."""
    if positions is not None and prompt + response > positions:
        yield Broken(
            "longer_than_the_model", "failed",
            f"prompt {prompt} + answer {response} = {prompt + response} tokens, and the model has {positions} places",
            f"an answer of {max(0, positions - prompt)} tokens at most, or a model with more positions",
        )  # fmt: skip
    if engine is not None and prompt + response > engine:
        yield Broken(
            "longer_than_the_engine", "warning",
            f"prompt {prompt} + answer {response} = {prompt + response} tokens, and the engine takes {engine}: answers "
            "are cut before their limit, and may count as ended by themselves",
            f"max_model_len={prompt + response} or more, or an answer of {max(0, engine - prompt)} tokens at most",
        )  # fmt: skip
    if thinking and response < THINKING_TOKENS:
        yield Broken(
            "too_short_to_think", "warning",
            f"answers of {response} tokens at most from a model that thinks first: cut ones get reward 0, and a group "
            "of cut ones has advantage 0 everywhere",
            f"{THINKING_TOKENS} tokens or more, a base model, or thinking turned off",
        )  # fmt: skip
