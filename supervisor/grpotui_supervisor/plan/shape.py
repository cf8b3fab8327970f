"""The shape of a language model: what of its config.json decides memory.

The fields are those of Hugging Face's `PretrainedConfig` classes. Two traps are met here: `head_dim` may differ from
hidden / heads (Qwen3-0.6B and 4B), and of multi-head latent attention `num_key_value_heads` is not what is cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from grpotui_supervisor.errors import PlanError

COUNTED: Final = frozenset({"llama", "mistral", "qwen2", "qwen3", "qwen3_moe", "deepseek_v2", "deepseek_v3"})
"""`model_type`s whose parameters are counted; of any other one only the KV cache is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """A mixture of experts in place of one feed-forward network."""

    routed: int
    shared: int
    width: int
    """Neurons of one expert."""
    layers: int
    """Layers that have them; the others are dense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Multi-head latent attention (DeepSeek-V2): a token's keys and values are cached as one vector a layer."""

    rank: int
    rope: int
    nope: int
    value: int
    query_rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of a decoder; counts, no bytes."""

    model_type: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    width: int
    """Neurons of a dense feed-forward network."""
    vocabulary: int
    tied: bool
    """Whether the last layer is the embedding again."""
    positions: int | None = None
    """The longest sequence that it was made for."""
    biased: bool = False
    """Whether queries, keys and values have a bias (Qwen2)."""
    normed: bool = False
    """Whether queries and keys are normalised (Qwen3)."""
    experts: Experts | None = None
    latent: Latent | None = None
    window: int | None = None
    """Tokens that a windowed layer keeps."""
    windowed_layers: int = 0
    cached_layers: int = 0
    """Layers that keep keys and values; fewer than `layers` where others have a state of fixed size."""

    def __post_init__(self) -> None:
        if not self.cached_layers:
            object.__setattr__(self, "cached_layers", self.layers)


def shape_of(config: Mapping[str, Any]) -> Shape:
    """The shape in a config.json; of a model with several parts, that of its language model.

    Raises:
        PlanError: a field is missing, or no whole number.
    """
    inner = config.get("text_config")
    if isinstance(inner, Mapping):
        config = {"tie_word_embeddings": config.get("tie_word_embeddings", False), **inner}
    model_type = str(config.get("model_type", "unknown"))
    hidden, heads = _whole(config, "hidden_size"), _whole(config, "num_attention_heads")
    layers = _whole(config, "num_hidden_layers")
    window, windowed = _windows(config, layers)
    return Shape(
        model_type=model_type,
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=_whole(config, "num_key_value_heads", heads),
        head_dim=_whole(config, "head_dim", hidden // heads),
        width=_whole(config, "intermediate_size", 0),
        vocabulary=_whole(config, "vocab_size"),
        tied=bool(config.get("tie_word_embeddings", False)),
        positions=_whole(config, "max_position_embeddings", 0) or None,
        biased=bool(config.get("attention_bias", model_type == "qwen2")),
        normed=model_type in ("qwen3", "qwen3_moe"),
        experts=_experts(config, layers),
        latent=_latent(config),
        window=window,
        windowed_layers=windowed,
        cached_layers=sum(kind != "linear_attention" for kind in config.get("layer_types") or ()) or layers,
    )


def _experts(config: Mapping[str, Any], layers: int) -> Experts | None:
    routed = _whole(config, "n_routed_experts", 0) or _whole(config, "num_experts", 0)
    if not routed:
        return None
    dense = _whole(config, "first_k_dense_replace", 0) + len(config.get("mlp_only_layers") or ())
    return Experts(
        routed=routed,
        shared=_whole(config, "n_shared_experts", 0),
        width=_whole(config, "moe_intermediate_size"),
        layers=(layers - dense) // _whole(config, "decoder_sparse_step", 1),
    )


def _latent(config: Mapping[str, Any]) -> Latent | None:
    if not config.get("kv_lora_rank"):
        return None
    return Latent(
        rank=_whole(config, "kv_lora_rank"),
        rope=_whole(config, "qk_rope_head_dim"),
        nope=_whole(config, "qk_nope_head_dim"),
        value=_whole(config, "v_head_dim"),
        query_rank=_whole(config, "q_lora_rank", 0) or None,
    )


def _windows(config: Mapping[str, Any], layers: int) -> tuple[int | None, int]:
    """The window, and how many layers have it. Qwen2 writes a window that is off; Mistral has it in every layer."""
    window = _whole(config, "sliding_window", 0) or None
    if window is None or config.get("use_sliding_window") is False:
        return None, 0
    kinds = config.get("layer_types")
    if kinds:
        return window, sum(kind == "sliding_attention" for kind in kinds)
    return window, layers


_REQUIRED: Final = -1


def _whole(config: Mapping[str, Any], name: str, default: int = _REQUIRED) -> int:
    value = config.get(name)
    if value is None:
        if default == _REQUIRED:
            raise PlanError(f"config.json has no {name}")
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise PlanError(f"{name} in config.json is {value!r}, not a whole number")
    return value
