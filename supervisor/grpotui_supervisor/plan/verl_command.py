"""What a verl command means for a plan. Defaults are those of verl's `trainer/config` (0.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from grpotui_supervisor.plan.request import Lora, Rollout, Training
from grpotui_supervisor.plan.states import DTYPES
from grpotui_supervisor.plan.verl_batches import VerlBatches

if TYPE_CHECKING:
    from grpotui_supervisor.plan.request import Engine, Offload
    from grpotui_supervisor.plan.settings import Settings

_ACTOR: Final = "actor_rollout_ref.actor."
_ROLLOUT: Final = "actor_rollout_ref.rollout."
_REF: Final = "actor_rollout_ref.ref."
_MODEL: Final = "actor_rollout_ref.model."
_ENGINES: Final[dict[str, Engine]] = {"vllm": "vllm", "sglang": "sglang", "trtllm": "sglang", "hf": "none"}


def model_name(settings: Settings) -> str | None:
    """Its path, or its name on the hub."""
    return settings.text(f"{_MODEL}path")


def gpus(settings: Settings) -> int:
    """Of all nodes together."""
    return settings.count("trainer.n_gpus_per_node", 8) * settings.count("trainer.nnodes", 1)


def batches(settings: Settings, *, rows: int | None = None) -> VerlBatches:
    """The batch sizes."""
    return VerlBatches(
        gpus=gpus(settings),
        train_batch_size=settings.count("data.train_batch_size", 1024),
        rollout_n=settings.count(f"{_ROLLOUT}n", 1),
        ppo_mini_batch_size=settings.count(f"{_ACTOR}ppo_mini_batch_size", 256),
        ppo_epochs=settings.count(f"{_ACTOR}ppo_epochs", 1),
        ppo_micro_batch_size_per_gpu=settings.whole(f"{_ACTOR}ppo_micro_batch_size_per_gpu"),
        log_prob_micro_batch_size_per_gpu=settings.whole(f"{_ROLLOUT}log_prob_micro_batch_size_per_gpu"),
        critic_micro_batch_size_per_gpu=settings.whole("critic.ppo_micro_batch_size_per_gpu"),
        use_dynamic_bsz=settings.flag(f"{_ACTOR}use_dynamic_bsz", default=False),
        ppo_max_token_len_per_gpu=settings.whole(f"{_ACTOR}ppo_max_token_len_per_gpu", 16384),
        sequence_parallel=settings.count(f"{_ACTOR}ulysses_sequence_parallel_size", 1),
        tensor_parallel=settings.count(f"{_ROLLOUT}tensor_model_parallel_size", 2),
        max_prompt_length=settings.count("data.max_prompt_length", 512),
        max_response_length=settings.count("data.max_response_length", 512),
        rows=rows,
        advantage=settings.text("algorithm.adv_estimator", "gae") or "gae",
        old_keys=tuple(key for key in settings if key.endswith("micro_batch_size")),
    )


def training(settings: Settings) -> Training:
    """How the actor is trained."""
    sizes = batches(settings)
    rank = settings.count(f"{_MODEL}lora_rank", 0)
    longest = (sizes.max_prompt_length or 0) + (sizes.max_response_length or 0)
    tokens = sizes.ppo_max_token_len_per_gpu if sizes.use_dynamic_bsz else None
    if tokens is None and sizes.ppo_micro_batch_size_per_gpu is not None:
        tokens = sizes.ppo_micro_batch_size_per_gpu * longest
    dtype = settings.text(f"{_ACTOR}fsdp_config.model_dtype", "fp32") or "fp32"
    return Training(
        method="fp32" if DTYPES.get(dtype, 4.0) == DTYPES["fp32"] else "bf16",
        sharding="fsdp",
        lora=Lora(rank=rank, parameters=None) if rank else None,
        base_bytes=DTYPES.get(dtype, 4.0) if rank else 2.0,
        parameter_offload=_offload(settings, "param_offload"),
        optimizer_offload=_offload(settings, "optimizer_offload"),
        reference=_reference(settings, adapted=rank > 0),
        micro_tokens=tokens,
        checkpointing=settings.flag(f"{_MODEL}enable_gradient_checkpointing", default=True),
        fused_logits=settings.flag(f"{_MODEL}use_fused_kernels", default=False),
    )


def rollout(settings: Settings) -> Rollout:
    """How answers are generated."""
    sizes = batches(settings)
    return Rollout(
        engine=_ENGINES.get(settings.text(f"{_ROLLOUT}name", "vllm") or "vllm", "vllm"),
        share=settings.number(f"{_ROLLOUT}gpu_memory_utilization", 0.5),
        tensor_parallel=sizes.tensor_parallel,
        length=(sizes.max_prompt_length or 0) + (sizes.max_response_length or 0),
        sequences=settings.whole(f"{_ROLLOUT}max_num_seqs", 1024),
        sleeps=settings.flag(f"{_ROLLOUT}free_cache_engine", default=True),
    )


def _offload(settings: Settings, which: str) -> Offload:
    if settings.flag(f"{_ACTOR}fsdp_config.offload_policy", default=False):
        return "always"
    return "between" if settings.flag(f"{_ACTOR}fsdp_config.{which}", default=False) else "no"


def _reference(settings: Settings, *, adapted: bool) -> Literal["none", "card", "host"]:
    """There is one only where a KL is computed; of an adapter it is the base without it."""
    keys = (f"{_ACTOR}use_kl_loss", "algorithm.use_kl_in_reward")
    if adapted or not any(settings.flag(key, default=False) for key in keys):
        return "none"
    return "host" if settings.flag(f"{_REF}fsdp_config.param_offload", default=False) else "card"
