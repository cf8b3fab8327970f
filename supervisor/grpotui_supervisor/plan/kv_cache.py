"""The KV cache of a rollout engine.

A token of one sequence takes 2 · layers · kv_heads · head_dim · bytes (key and value; not the query heads), divided
by the tensor parallelism as long as every card keeps a head. Of multi-head latent attention it is
layers · (rank + rope) · bytes on every card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from grpotui_supervisor.plan.shape import Shape

BLOCK_TOKENS: Final = 16
"""vLLM's default block: what is given out at once."""


def bytes_per_token(shape: Shape, *, element_bytes: int = 2, tensor_parallel: int = 1) -> int:
    """Bytes of one token on one card, in layers without a window."""
    return shape.cached_layers * _layer_bytes(shape, element_bytes, tensor_parallel)


def sequence_bytes(shape: Shape, length: int, *, element_bytes: int = 2, tensor_parallel: int = 1) -> int:
    """Bytes of one sequence of `length` tokens on one card: a windowed layer keeps its window at most."""
    windowed = shape.windowed_layers if shape.window is not None else 0
    kept = min(length, shape.window) if shape.window is not None else length
    tokens = (shape.cached_layers - windowed) * length + windowed * kept
    return tokens * _layer_bytes(shape, element_bytes, tensor_parallel)


def tokens_in(budget: int, shape: Shape, *, element_bytes: int = 2, tensor_parallel: int = 1) -> int:
    """Whole blocks of tokens that a budget in bytes of one card holds."""
    block = BLOCK_TOKENS * bytes_per_token(shape, element_bytes=element_bytes, tensor_parallel=tensor_parallel)
    return max(0, budget) // block * BLOCK_TOKENS


def sequences_in(budget: int, length: int, shape: Shape, *, element_bytes: int = 2, tensor_parallel: int = 1) -> float:
    """Sequences of full `length` that run at once: what vLLM logs as "Maximum concurrency"."""
    rounded = -(-length // BLOCK_TOKENS) * BLOCK_TOKENS
    return max(0, budget) / sequence_bytes(shape, rounded, element_bytes=element_bytes, tensor_parallel=tensor_parallel)


def _layer_bytes(shape: Shape, element_bytes: int, tensor_parallel: int) -> int:
    if shape.latent is not None:
        return (shape.latent.rank + shape.latent.rope) * element_bytes
    return 2 * max(1, shape.kv_heads // tensor_parallel) * shape.head_dim * element_bytes
