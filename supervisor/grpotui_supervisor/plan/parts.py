"""What lies on one card, part by part, in bytes. A part is exact arithmetic, or an estimate that says it is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.plan.parameters import largest_unit
from grpotui_supervisor.plan.states import METHODS, division
from grpotui_supervisor.plan.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.plan.machine import Machine
    from grpotui_supervisor.plan.request import Request
    from grpotui_supervisor.plan.states import Bytes

CONTEXT_BYTES: Final = round(0.6 * GIB)
"""A CUDA context: 630 MiB on an H200 with driver 580; 0.25 to 0.6 GiB are told of others."""
NCCL_BYTES: Final = round(0.5 * GIB)
"""Buffers of the collectives, at least."""
ASLEEP_BYTES: Final = round(1.0 * GIB)
"""What a sleeping engine keeps: its context and CUDA graphs."""
_LOGITS_COPIES: Final = 3
"""log_softmax with its backward pass peaked at 2.9 fp32 copies (trl#3678: 902 MB for a tensor of 310)."""
_LOGITS_BYTES: Final = 4
_SAVED_BYTES: Final = 2
_BLOCK_BYTES: Final = 34
"""By token and hidden unit, of a layer under flash attention (Korthikanti et al. 2022, equation 2 without 5·a·s/h)."""
_GATHERED: Final = 2
"""A unit in use and the next one, which is fetched meanwhile."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something on a card."""

    name: str
    size: int
    is_estimate: bool
    why: str
    """How it was computed, with its numbers."""


def per_parameter(request: Request) -> Bytes:
    """Of the parameters that are trained."""
    return METHODS["mixed" if request.training.lora is not None else request.training.method]


def trained(request: Request) -> int:
    """How many are; of an adapter whose size is not known, 0."""
    lora = request.training.lora
    return request.model.parameters if lora is None else lora.parameters or 0


def weights(request: Request, machine: Machine) -> Part:
    """Trained weights, and the frozen base below an adapter."""
    training, each = request.training, per_parameter(request)
    parts = division(training.sharding, machine.cards).weights
    own = trained(request) * each.weights
    if training.lora is None:
        why = f"{_count(trained(request))} · {each.weights:g} bytes{_over(parts)}"
        return Part("weights", round(own / parts), is_estimate=False, why=why)
    base = request.model.parameters * training.base_bytes
    why = (
        f"frozen base {_count(request.model.parameters)} · {training.base_bytes:g} bytes{_over(parts)}, and the adapter"
    )
    return Part("weights", round((base + own) / parts), is_estimate=False, why=why)


def gradients(request: Request, machine: Machine) -> Part:
    """There from the first backward pass to the optimizer's step."""
    each, parts = per_parameter(request), division(request.training.sharding, machine.cards).gradients
    why = f"{_count(trained(request))} · {each.gradients:g} bytes{_over(parts)}"
    return Part("gradients", round(trained(request) * each.gradients / parts), is_estimate=False, why=why)


def optimizer(request: Request, machine: Machine) -> Part:
    """Master copy and moments."""
    each, parts = per_parameter(request), division(request.training.sharding, machine.cards).optimizer
    why = f"{_count(trained(request))} · {each.optimizer:g} bytes (master {each.master:g}, moments {each.moments:g})"
    return Part(
        "optimizer", round(trained(request) * each.optimizer / parts), is_estimate=False, why=why + _over(parts)
    )


def reference(request: Request, machine: Machine) -> Part:
    """A frozen copy, in the dtype of the base."""
    parts = division(request.training.sharding, machine.cards).weights
    each = request.training.base_bytes
    why = f"{_count(request.model.parameters)} · {each:g} bytes{_over(parts)}"
    return Part("reference", round(request.model.parameters * each / parts), is_estimate=False, why=why)


def gathered(request: Request, machine: Machine) -> Iterator[Part]:
    """Whole units that FSDP and ZeRO-3 put together for computing."""
    shape, training = request.model.shape, request.training
    if shape is None or division(training.sharding, machine.cards).weights == 1:
        return
    unit = largest_unit(shape)
    why = f"{_GATHERED} · largest unit {_count(unit)} · 2 bytes"
    yield Part("gathered", _GATHERED * unit * 2, is_estimate=True, why=why)


def activations(request: Request) -> Iterator[Part]:
    """Of one micro batch."""
    shape, tokens = request.model.shape, request.training.micro_tokens
    if shape is None or tokens is None:
        return
    width = tokens * shape.hidden
    if request.training.checkpointing:
        size = width * shape.layers * _SAVED_BYTES + width * _BLOCK_BYTES
        why = f"{tokens} tokens · {shape.hidden} · ({shape.layers} layers · {_SAVED_BYTES} + {_BLOCK_BYTES}) bytes"
    else:
        size = width * shape.layers * _BLOCK_BYTES
        why = f"{tokens} tokens · {shape.hidden} · {shape.layers} layers · {_BLOCK_BYTES} bytes, not checkpointed"
    yield Part("activations", size, is_estimate=True, why=why)


def logits(request: Request) -> Iterator[Part]:
    """Tokens · vocabulary, several times."""
    shape, tokens = request.model.shape, request.training.micro_tokens
    if shape is None or tokens is None or request.training.fused_logits:
        return
    size = _LOGITS_COPIES * logits_bytes(tokens, shape.vocabulary)
    why = f"{_LOGITS_COPIES} · {tokens} tokens · vocabulary {shape.vocabulary} · {_LOGITS_BYTES} bytes"
    yield Part("logits", size, is_estimate=True, why=why)


def logits_bytes(tokens: int, vocabulary: int) -> int:
    """One fp32 copy."""
    return tokens * vocabulary * _LOGITS_BYTES


def process(machine: Machine) -> Part:
    """What every process pays for being there."""
    nccl = NCCL_BYTES if machine.cards > 1 else 0
    why = "CUDA context 0.6 GiB" + (", NCCL 0.5 GiB" if nccl else "")
    return Part("context", CONTEXT_BYTES + nccl, is_estimate=True, why=why)


def _over(parts: int) -> str:
    return f" / {parts} cards" if parts > 1 else ""


def _count(value: int) -> str:
    return f"{value / 1e9:.4g} B" if value >= 10**8 else f"{value / 1e6:.3g} M"
