"""The planner against figures that real runs logged; each with the tolerance that it deserves, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grpotui_supervisor.plan as package
from grpotui_supervisor.plan.kv_cache import BLOCK_TOKENS, bytes_per_token, sequence_bytes, sequences_in, tokens_in
from grpotui_supervisor.plan.parameters import parameters
from grpotui_supervisor.plan.parts import logits_bytes
from grpotui_supervisor.plan.shape import Shape, shape_of
from grpotui_supervisor.plan.states import METHODS
from grpotui_supervisor.plan.units import GB, GIB, gib

MODELS = json.loads(Path(package.__file__).with_name("models.json").read_text())
LLAMA = "meta-llama/Llama-3.1-8B"


def shape(name: str) -> Shape:
    return shape_of(MODELS[name])


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("Qwen/Qwen3-0.6B", 0.5960),
        ("Qwen/Qwen3-1.7B", 1.7206),
        ("Qwen/Qwen3-4B", 4.0225),
        ("Qwen/Qwen3-8B", 8.1907),
        ("Qwen/Qwen2.5-7B", 7.6156),
        ("Qwen/Qwen2.5-14B", 14.7700),
        ("Qwen/Qwen3-30B-A3B", 30.5321),
        (LLAMA, 8.0303),
        ("deepseek-ai/DeepSeek-V2-Lite", 15.7065),
    ],
)
def test_the_parameters_are_those_of_the_published_checkpoints(name: str, billions: float) -> None:
    assert parameters(shape(name)) / 1e9 == pytest.approx(billions, abs=0.0001)


@pytest.mark.parametrize(
    ("name", "kib"),
    [
        ("Qwen/Qwen3-0.6B", 112),
        ("Qwen/Qwen3-1.7B", 112),
        ("Qwen/Qwen3-4B", 144),
        ("Qwen/Qwen3-8B", 144),
        ("Qwen/Qwen2.5-7B", 56),
        (LLAMA, 128),
        ("deepseek-ai/DeepSeek-V2-Lite", 30.375),
    ],
)
def test_the_cache_of_a_token(name: str, kib: float) -> None:
    assert bytes_per_token(shape(name)) == kib * 1024


def test_the_cache_of_the_seven_card_run() -> None:
    """2 · 28 layers · 8 heads · 128 · (2048 + 16000) tokens · 4 sequences · 2 bytes."""
    size = 4 * sequence_bytes(shape("Qwen/Qwen3-1.7B"), 2048 + 16000)
    assert size == 8_279_556_096
    assert gib(size) == "7.71 GiB"


@pytest.mark.parametrize(
    ("computed", "logged", "tolerance"),
    [
        (parameters(shape(LLAMA)) * 2 / GIB, 14.9888, 0.003),  # vLLM's "model weights take": buffers beside the weights
        (tokens_in(round(3.81 * GIB), shape(LLAMA)) / BLOCK_TOKENS, 1952, 0.002),  # the log rounds to 0.01 GiB
        (tokens_in(round(2.89 * GIB), shape(LLAMA)) / BLOCK_TOKENS, 1478, 0.002),
        (sequences_in(round(3.81 * GIB), 20000, shape(LLAMA)), 1.56, 0.002),
        (tokens_in(round(34.81 * GIB), shape("Qwen/Qwen2.5-0.5B")) / BLOCK_TOKENS, 190100, 0.001),
        (sequences_in(round(34.81 * GIB), 32768, shape("Qwen/Qwen2.5-0.5B")), 92.82, 0.001),
        (sequence_bytes(shape("deepseek-ai/DeepSeek-V2-Lite"), 32768) / GIB, 0.95, 0.005),
        (parameters(shape("Qwen/Qwen3-4B")) * 2 / GIB, 7.49, 0.003),  # verl, one card, "After FSDP"
        (27.61e9 * METHODS["fp32"].weights / GIB, 103.02, 0.003),
        (parameters(shape("meta-llama/Llama-2-7b-hf")) * 2 / GB, 13.51, 0.004),
        (parameters(shape("meta-llama/Llama-2-7b-hf")) * 4 / GB, 27.83, 0.04),  # a peak: activations come on top
        (logits_bytes(2 * 256, 151665) / 1e6, 310, 0.005),
        (logits_bytes(16 * 1024, 32768) / 1e6, 2147, 0.001),
    ],
)
def test_what_was_logged(computed: float, logged: float, tolerance: float) -> None:
    assert computed == pytest.approx(logged, rel=tolerance)


def test_tensor_parallelism_divides_the_heads_but_never_below_one() -> None:
    config = {
        "model_type": "qwen3_moe", "hidden_size": 4096, "num_hidden_layers": 94, "num_attention_heads": 64,
        "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
    }  # fmt: skip
    big = shape_of(config)  # Qwen3-235B-A22B: what its cache needs of it
    at_four = bytes_per_token(big, tensor_parallel=4)
    assert 367404 * at_four / 2 / GIB == pytest.approx(8.23, rel=0.002)  # SGLang's K size
    assert 8.11 * GIB / at_four == pytest.approx(178880, rel=0.015)  # vLLM tells the minimum over ranks, rank 0's GiB
    assert bytes_per_token(big, tensor_parallel=8) == at_four


def test_latent_attention_is_on_every_card_whole() -> None:
    lite = shape("deepseek-ai/DeepSeek-V2-Lite")
    assert bytes_per_token(lite, tensor_parallel=8) == bytes_per_token(lite)


def test_a_window_bounds_the_cache_of_its_layers_only() -> None:
    config = MODELS["Qwen/Qwen3-0.6B"] | {
        "sliding_window": 1024,
        "layer_types": ["sliding_attention"] * 14 + ["full_attention"] * 14,
    }
    windowed, whole = shape_of(config), shape("Qwen/Qwen3-0.6B")
    assert sequence_bytes(windowed, 1024) == sequence_bytes(whole, 1024)
    assert sequence_bytes(windowed, 4096) == sequence_bytes(whole, 4096) * (14 * 4096 + 14 * 1024) // (28 * 4096)


def test_a_layer_of_linear_attention_keeps_no_cache() -> None:
    kinds = ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 7
    hybrid = shape_of(MODELS["Qwen/Qwen3-0.6B"] | {"layer_types": kinds})
    assert bytes_per_token(hybrid) == bytes_per_token(shape("Qwen/Qwen3-0.6B")) // 4
