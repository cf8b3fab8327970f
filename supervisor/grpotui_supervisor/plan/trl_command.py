"""What the options of a TRL command mean for a plan: those of `GRPOConfig` and `ModelConfig`, with their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.plan.request import Lora, Rollout, Training
from grpotui_supervisor.plan.trl_batches import TrlBatches

if TYPE_CHECKING:
    from grpotui_supervisor.plan.settings import Settings


def model_name(settings: Settings) -> str | None:
    """Its path, or its name on the hub."""
    return settings.text("model_name_or_path")


def batches(settings: Settings, world_size: int, *, rows: int | None = None) -> TrlBatches:
    """The batch sizes of so many ranks."""
    return TrlBatches(
        world_size=world_size,
        per_device_train_batch_size=settings.count("per_device_train_batch_size", 8),
        gradient_accumulation_steps=settings.count("gradient_accumulation_steps", 1),
        num_generations=settings.count("num_generations", 8),
        num_iterations=settings.count("num_iterations", 1),
        steps_per_generation=settings.whole("steps_per_generation"),
        generation_batch_size=settings.whole("generation_batch_size"),
        rows=rows,
        max_steps=settings.whole("max_steps"),
        reference_batch=settings.whole("reference_batch"),
    )


def lengths(settings: Settings) -> tuple[int | None, int]:
    """Longest prompt, where it is bounded (TRL < 0.29 has the option), and longest answer; tokens."""
    return settings.whole("max_prompt_length"), settings.count("max_completion_length", 256)


def training(settings: Settings, world_size: int) -> Training:
    """How it is trained: `zero_stage` and the offloads are DeepSpeed's, which a profile tells beside the command."""
    adapted = settings.flag("use_peft", default=False)
    stage = settings.whole("zero_stage")
    prompt, answer = lengths(settings)
    sizes = batches(settings, world_size)
    return Training(
        method="mixed" if settings.flag("bf16", default=True) else "fp32",
        sharding="ddp" if stage is None else ("none", "zero1", "zero2", "zero3")[min(max(stage, 0), 3)],
        lora=Lora(rank=settings.count("lora_r", 16), parameters=None) if adapted else None,
        parameter_offload="always" if settings.flag("cpu_parameters", default=False) else "no",
        optimizer_offload="always" if settings.flag("cpu_adam", default=False) else "no",
        reference="none" if adapted or settings.number("beta", 0.0) == 0 else "card",
        micro_tokens=None if prompt is None else sizes.per_device_train_batch_size * (prompt + answer),
        checkpointing=settings.flag("gradient_checkpointing", default=True),
        fused_logits=settings.flag("use_liger_kernel", default=False),
    )


def rollout(settings: Settings) -> Rollout:
    """How answers are generated: vLLM beside the training (colocate), on a server elsewhere, or by transformers."""
    prompt, answer = lengths(settings)
    beside = settings.flag("use_vllm", default=False) and settings.text("vllm_mode", "colocate") != "server"
    return Rollout(
        engine="vllm" if beside else "none",
        share=settings.number("vllm_gpu_memory_utilization", 0.3),
        cache_bytes=settings.whole("kv_cache_memory_bytes"),
        tensor_parallel=settings.count("vllm_tensor_parallel_size", 1),
        length=None if prompt is None else prompt + answer,
        sequences=settings.whole("max_num_seqs"),
        sleeps=settings.flag("vllm_enable_sleep_mode", default=False),
    )
