"""What a printed dictionary is: a row of training metrics, an evaluation, the end of training, or none of ours.

Logs are full of other dictionaries: settings, prompts, what a reward function prints. One of them taken for a
record would shift all later steps, so a record must look like the trainer's in more than one key.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.logs.hf_dicts import Value

VALIDATION: Final = "val/"
"""Stands in place of `eval_`, so that a validation metric is never taken for the training metric of that name."""

_COMPANIONS: Final = frozenset({"grad_norm", "learning_rate", "kl"})
_STEP_LIMIT = 1e12
_FRACTION = re.compile(r"([0-9]{1,12})/([0-9]{1,12})")


class Kind(Enum):
    """What the trainer says with a dictionary."""

    TRAINING = "training"
    VALIDATION = "validation"
    END = "end"


class Printed(NamedTuple):
    """One dictionary of the trainer; `step` and `total` where it tells them itself.

    Only ms-swift tells the total.
    """

    kind: Kind
    metrics: dict[str, float]
    step: int | None
    total: int | None
    epoch: float | None


def hinted(text: str) -> bool:
    """Whether a text may be the trainer's; to look for a word is a hundred times cheaper than to read pairs."""
    return (
        "loss'" in text
        or "epoch'" in text
        or 'max_steps"' in text  # ms-swift's logging.jsonl
        or 'iteration"' in text
    )


def printed(values: dict[str, Value]) -> Printed | None:
    """The dictionary as the trainer means it; None for anybody else's."""
    step, total = _progress(values)
    if total is None and set(map(type, values.values())) == {float}:
        kind = _kind_of_numbers(tuple(values))
        metrics: dict[str, float] = values  # type: ignore[assignment]
    else:
        kind = _kind(values, told=total is not None)
        metrics = {key: value for key, value in values.items() if isinstance(value, float)}
    if kind is None:
        return None
    epoch = values.get("epoch")
    if kind is Kind.VALIDATION:
        metrics = {_validation_key(key): value for key, value in metrics.items()}
    return Printed(kind, metrics, step, total, epoch if isinstance(epoch, float) else None)


@lru_cache(maxsize=64)
def _kind_of_numbers(keys: tuple[str, ...]) -> Kind | None:
    """Most dictionaries hold numbers only, and the keys of a run seldom change."""
    return _kind(dict.fromkeys(keys, 0.0), told=False)


def _kind(values: Mapping[str, Value], *, told: bool) -> Kind | None:
    if "loss" not in values:
        if _is_number(values, "train_loss") and _is_number(values, "train_runtime"):
            return Kind.END
        if any(key.startswith("eval_") for key in values):
            return Kind.VALIDATION if _is_validation(values) else None
    return Kind.TRAINING if _is_training(values, told=told) else None


def _is_training(values: Mapping[str, Value], *, told: bool) -> bool:
    """A metric and `epoch` or a step; without them, `loss` and what goes with it, and nothing but numbers."""
    loss = _readable(values, "loss")
    if told or _is_number(values, "epoch"):
        return loss or _readable(values, "reward") or any(_is_reward(values, key) for key in values)
    if not loss or any(isinstance(value, str) for value in values.values()):
        return False
    return any(key in _COMPANIONS or key.startswith("rewards/") for key in values)


def _is_reward(values: Mapping[str, Value], key: str) -> bool:
    return key.startswith("rewards/") and _readable(values, key)


def _is_validation(values: Mapping[str, Value]) -> bool:
    """Every metric has the prefix; `epoch` or the time it took is there."""
    known = _is_number(values, "epoch") or _is_number(values, "eval_runtime")
    return known and any(key.startswith("eval_") and value is not None for key, value in values.items())


def _progress(values: Mapping[str, Value]) -> tuple[int | None, int | None]:
    """Step and total, of ms-swift's '5/94'; or the step, of an entry of the Trainer's history."""
    text = values.get("global_step/max_steps") or values.get("iteration")
    if isinstance(text, str) and (found := _FRACTION.fullmatch(text)):
        return int(found[1]), int(found[2])
    step = values.get("step")
    return (
        (int(step), None) if isinstance(step, float) and 0 <= step < _STEP_LIMIT and step.is_integer() else (None, None)
    )


def _validation_key(key: str) -> str:
    return VALIDATION + key.removeprefix("eval_") if key.startswith("eval_") else key


def _is_number(values: Mapping[str, Value], key: str) -> bool:
    return isinstance(values.get(key), float)


def _readable(values: Mapping[str, Value], key: str) -> bool:
    """A number, or said to be missing."""
    return key in values and not isinstance(values[key], str)
