"""How many sequences the rollout engine's KV cache holds at full length, and what the wanted ones need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpotui_supervisor.plan.batches import Broken
from grpotui_supervisor.plan.kv_cache import bytes_per_token, sequence_bytes, sequences_in, tokens_in
from grpotui_supervisor.plan.units import gb

if TYPE_CHECKING:
    from grpotui_supervisor.plan.memory import MemoryPlan
    from grpotui_supervisor.plan.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePlan:
    """Of one card; None where a length, a number of sequences or the cards are not known."""

    token_bytes: int
    budget: int | None
    """Bytes for the cache."""
    is_upper_bound: bool
    """Whether the engine's activations, which nobody knows before it starts, still go off the budget (about 2 GiB)."""
    tokens: int | None
    sequences: float | None
    """That fit at full length at once."""
    need: int | None
    """Bytes of the wanted sequences at full length."""
    wanted: int | None

    @property
    def fits(self) -> bool | None:
        """Whether all wanted sequences fit at full length; if not, the engine queues them: slower, no failure."""
        return None if self.need is None or self.budget is None else self.need <= self.budget


def cache_plan(request: Request, memory: MemoryPlan | None) -> CachePlan | None:
    """None for a model whose shape is not known, or without a rollout engine."""
    shape, rollout = request.model.shape, request.rollout
    if shape is None or rollout.engine == "none":
        return None
    size = {"element_bytes": rollout.element_bytes, "tensor_parallel": rollout.tensor_parallel}
    budget, length = rollout.cache_bytes, rollout.length
    if budget is None and memory is not None:
        engine = next((p.size for phase in memory.phases for p in phase.parts if p.name == "engine"), None)
        weights = round(request.model.parameters * 2 / rollout.tensor_parallel)
        budget = None if engine is None else max(0, engine - weights)
    whole = sequence_bytes(shape, length, **size) if length is not None else None
    return CachePlan(
        token_bytes=bytes_per_token(shape, **size),
        budget=budget,
        is_upper_bound=rollout.cache_bytes is None,
        tokens=None if budget is None else tokens_in(budget, shape, **size),
        sequences=None if budget is None or not length else sequences_in(budget, length, shape, **size),
        need=None if whole is None or rollout.sequences is None else whole * rollout.sequences,
        wanted=rollout.sequences,
    )


def starved(request: Request, memory: MemoryPlan | None) -> tuple[Broken, ...]:
    """An engine whose cache does not hold one sequence at full length: vLLM refuses to start then."""
    found, rollout = cache_plan(request, memory), request.rollout
    if found is None or found.sequences is None or found.sequences >= 1 or memory is None:
        return ()
    weights = request.model.parameters * 2 / rollout.tensor_parallel
    words = f"{gb(found.budget or 0)} for the KV cache"
    if rollout.share is not None and rollout.cache_bytes is None:
        words = (
            f"the share {rollout.share:g} of {gb(memory.machine.card_bytes)} less {gb(weights)} of weights is " + words
        )
    return (
        Broken(
            "engine_without_cache", "failed",
            f"{words}: not one sequence of {rollout.length} tokens fits, and the engine does not start",
            f"a larger share, tensor parallelism above {rollout.tensor_parallel}, or a shorter limit",
        ),
    )  # fmt: skip
