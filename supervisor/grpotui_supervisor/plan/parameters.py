"""How many parameters a shape has, exactly: what `sum(p.numel() for p in model.parameters())` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.errors import PlanError
from grpotui_supervisor.plan.shape import COUNTED

if TYPE_CHECKING:
    from grpotui_supervisor.plan.shape import Experts, Shape


def parameters(shape: Shape) -> int:
    """All parameters, a tied last layer counted once.

    Raises:
        PlanError: the layers of this `model_type` are not known; nothing is guessed.
    """
    if shape.model_type not in COUNTED or shape.cached_layers != shape.layers:
        raise PlanError(
            f"the layers of model_type {shape.model_type!r} are not known, so its parameters are not counted",
            hint="give their number: --parameters 7.6B",
        )
    return shape.layers * (_attention(shape) + 2 * shape.hidden) + _feed_forward(shape) + shape.hidden + _ends(shape)


def largest_unit(shape: Shape) -> int:
    """Parameters of the largest piece that FSDP and ZeRO-3 gather at once: the embedding or one layer."""
    experts = shape.experts
    dense = 3 * shape.hidden * shape.width
    layer = _attention(shape) + 2 * shape.hidden + max(dense, _sparse(shape, experts) if experts is not None else 0)
    return max(layer, shape.vocabulary * shape.hidden)


def adapter(shape: Shape, rank: int, *, all_linear: bool = True) -> int:
    """Parameters of a LoRA adapter of this rank: r · (inputs + outputs) of every adapted matrix (Hu et al. 2021).

    `all_linear`: attention and feed-forward, else queries and values only.
    """
    queries, values = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    pairs = [(shape.hidden, queries), (shape.hidden, values)]
    if all_linear:
        pairs += [(shape.hidden, values), (queries, shape.hidden)]
        pairs += [(shape.hidden, shape.width), (shape.hidden, shape.width), (shape.width, shape.hidden)]
    return shape.layers * sum(rank * (inputs + outputs) for inputs, outputs in pairs)


def _attention(shape: Shape) -> int:
    hidden, latent = shape.hidden, shape.latent
    if latent is not None:
        each = latent.nope + latent.rope
        if latent.query_rank is None:
            query = hidden * shape.heads * each
        else:
            query = hidden * latent.query_rank + latent.query_rank + latent.query_rank * shape.heads * each
        down = hidden * (latent.rank + latent.rope) + latent.rank
        up = latent.rank * shape.heads * (latent.nope + latent.value)
        return query + down + up + shape.heads * latent.value * hidden
    queries, values = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    biases = queries + 2 * values if shape.biased else 0
    return 2 * hidden * queries + 2 * hidden * values + biases + (2 * shape.head_dim if shape.normed else 0)


def _feed_forward(shape: Shape) -> int:
    """Of all layers together."""
    dense, experts = 3 * shape.hidden * shape.width, shape.experts
    if experts is None:
        return shape.layers * dense
    return (shape.layers - experts.layers) * dense + experts.layers * _sparse(shape, experts)


def _sparse(shape: Shape, experts: Experts) -> int:
    """The experts of a layer and the router that chooses among them."""
    return 3 * shape.hidden * experts.width * (experts.routed + experts.shared) + shape.hidden * experts.routed


def _ends(shape: Shape) -> int:
    return shape.vocabulary * shape.hidden * (1 if shape.tied else 2)
