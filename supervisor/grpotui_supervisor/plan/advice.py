"""What to change first where a card does not hold a phase, the cheapest change before the dear ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.plan.units import gb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.plan.memory import MemoryPlan, Phase
    from grpotui_supervisor.plan.request import Request

_WORTH = 0.05
"""A part below this share of the card is not worth a change."""


def advice(request: Request, memory: MemoryPlan) -> list[str]:
    """Empty where every phase is comfortable."""
    found: list[str] = []
    for phase in memory.phases:
        if memory.verdict(phase) in ("tight", "does not fit"):
            found += [word for word in _of_phase(request, memory, phase) if word not in found]
    host = memory.machine.host_bytes
    if host is not None and memory.host_total > host:
        found.append(
            f"offloads need {gb(memory.host_total)} of the host's {gb(host)}: offload less, or train an adapter"
        )
    return found


def _of_phase(request: Request, memory: MemoryPlan, phase: Phase) -> Iterator[str]:
    sizes = {part.name: part.size for part in phase.parts}
    worth = memory.machine.card_bytes * _WORTH
    training, rollout = request.training, request.rollout
    if sizes.get("logits", 0) > worth:
        yield f"never hold all logits ({gb(sizes['logits'])}): fused kernels, Liger, chunked log probabilities"
    if sizes.get("activations", 0) > worth and not training.checkpointing:
        yield f"checkpoint activations ({gb(sizes['activations'])})"
    if sizes.get("activations", 0) + sizes.get("logits", 0) > worth:
        yield "fewer tokens a micro batch"
    if sizes.get("engine", 0) > worth and "gradients" in sizes and not request.model.is_nominal and not rollout.sleeps:
        yield f"let the engine sleep during updates ({gb(sizes['engine'])})"
    if sizes.get("reference", 0) > worth:
        yield f"the reference to the host ({gb(sizes['reference'])}), or no KL term at all"
    if sizes.get("optimizer", 0) > worth and training.optimizer_offload == "no":
        yield f"the optimizer's state to the host ({gb(sizes['optimizer'])}): optimizer_offload, slower"
    if sizes.get("engine", 0) > worth and rollout.share is not None and rollout.cache_bytes is None:
        yield f"a smaller share for the engine ({rollout.share:g} now)"
    if sizes.get("weights", 0) > worth and training.parameter_offload == "no" and "engine" in sizes:
        yield f"the training weights to the host during generation ({gb(sizes['weights'])}): param_offload"
    if training.lora is None:
        yield "an adapter (LoRA) in place of all parameters"
    yield "more cards, or a smaller model"
