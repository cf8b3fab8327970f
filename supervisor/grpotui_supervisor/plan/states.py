"""Bytes that a training state takes, by parameter.

Sources: Rajbhandari et al. 2020 (ZeRO), section 3.1: 2 + 2 + 12 = 16 bytes for Adam in mixed precision; FSDP with
fp32 parameters (verl's default `model_dtype`) comes to the same 4 + 4 + 8; Hu et al. 2021 for LoRA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Method = Literal["mixed", "fp32", "bf16", "adam8bit", "sgd"]


@dataclass(frozen=True, slots=True)
class Bytes:
    """A parameter that is trained, in bytes."""

    weights: float
    gradients: float
    master: float
    """The fp32 copy that the optimizer steps on."""
    moments: float
    """The optimizer's own: two of Adam."""

    @property
    def optimizer(self) -> float:
        """What optimizer offload moves, and ZeRO-1 divides."""
        return self.master + self.moments

    @property
    def total(self) -> float:
        """All of it."""
        return self.weights + self.gradients + self.master + self.moments


METHODS: Final[dict[Method, Bytes]] = {
    "mixed": Bytes(2, 2, 4, 8),
    "fp32": Bytes(4, 4, 0, 8),
    "bf16": Bytes(2, 2, 0, 4),
    "adam8bit": Bytes(2, 2, 4, 2),
    "sgd": Bytes(2, 2, 0, 0),
}
MEANINGS: Final[dict[Method, str]] = {
    "mixed": "bf16 weights and gradients, fp32 master copy, Adam",
    "fp32": "fp32 weights and gradients, Adam (verl's default; computed in bf16)",
    "bf16": "bf16 weights, gradients and Adam's moments, no master copy",
    "adam8bit": "bf16 weights and gradients, fp32 master copy, 8-bit Adam",
    "sgd": "bf16 weights and gradients, SGD without momentum",
}
DTYPES: Final = {
    "float32": 4.0, "fp32": 4.0, "bfloat16": 2.0, "bf16": 2.0, "float16": 2.0, "fp16": 2.0, "half": 2.0,
    "fp8": 1.0, "float8": 1.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "int8": 1.0, "int4": 0.55, "nf4": 0.55, "4bit": 0.55,
}  # fmt: skip
"""Bytes of an element; of 4-bit weights with their scales about 0.55."""


@dataclass(frozen=True, slots=True)
class Division:
    """Over how many cards each part of the state is divided; 1: every card has all of it."""

    weights: int
    gradients: int
    optimizer: int


Sharding = Literal["none", "ddp", "zero1", "zero2", "zero3", "fsdp"]


def division(sharding: Sharding, cards: int) -> Division:
    """What a strategy divides among `cards`. On one card nothing is divided (FSDP turns itself into NO_SHARD)."""
    cards = max(1, cards)
    match sharding:
        case "none" | "ddp":
            return Division(1, 1, 1)
        case "zero1":
            return Division(1, 1, cards)
        case "zero2":
            return Division(1, cards, cards)
        case "zero3" | "fsdp":
            return Division(cards, cards, cards)
