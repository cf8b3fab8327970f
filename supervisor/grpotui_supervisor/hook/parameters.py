"""Digests of the raw bytes of a few trainable parameters: the proof that an update changed them, or did not."""

from __future__ import annotations

import ctypes
import hashlib
import sys

from .record import WANTED, guarded, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LARGEST = 1 << 20
"""Bytes that are hashed of one parameter; four such take 10 ms."""
_TENSORS = 4
_OFTEN = 100
_digests: dict[str, str] = {}


@guarded
def look_at_parameters(model: Any, step: int, when: str) -> None:  # noqa: ANN401
    """Records them at both ends of training, and after steps that are a power of two or a multiple of 100."""
    torch = sys.modules.get("torch")
    if "parameters" not in WANTED or torch is None or model is None:
        return
    if when == "step_end" and step & (step - 1) and step % _OFTEN:
        return
    with torch.no_grad():
        tensors = [_sample(name, parameter) for name, parameter in _chosen(model)]
    record.write("parameters", {"step": step, "when": when, "tensors": [tensor for tensor in tensors if tensor]})


def _chosen(model: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    """LoRA's matrices where there are some, else matrices that are no embedding, whose rows may never be used."""
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad and _held(p)[0].numel()]
    adapters = [pair for pair in trained if "lora_" in pair[0]]
    inner = [(name, p) for name, p in trained if _is_matrix(p) and not any(w in name for w in ("embed", "head", "wte"))]
    pool = adapters or inner or trained
    places = sorted({round(i * (len(pool) - 1) / (_TENSORS - 1)) for i in range(_TENSORS)}) if pool else []
    return [pool[place] for place in places]


def _is_matrix(parameter: Any) -> bool:  # noqa: ANN401
    return len(getattr(parameter, "ds_shape", parameter.shape)) > 1  # ZeRO-3 leaves nothing of it in the model


def _held(parameter: Any) -> tuple[Any, str]:  # noqa: ANN401
    """What this process holds of a parameter, and what that is: the optimizer's own fp32 copy comes first."""
    fragment = getattr(getattr(parameter, "_hp_mapping", None), "hp_fragment", None)
    if fragment is not None:
        return fragment, "deepspeed fp32 master"
    if getattr(parameter, "ds_tensor", None) is not None:
        return _stage_3(parameter) or (parameter.ds_tensor, "deepspeed shard")
    if getattr(parameter, "_local_tensor", None) is not None:
        return parameter._local_tensor, "local shard"  # noqa: SLF001
    return parameter, "flat shard" if type(parameter).__name__ == "FlatParameter" else "parameter"


@guarded
def _stage_3(parameter: Any) -> tuple[Any, str] | None:  # noqa: ANN401
    """The fp32 master of a ZeRO-3 shard, unless it is swapped out; by DeepSpeed's own bookkeeping, no collective."""
    optimizer = parameter._z3_optimizer  # noqa: SLF001
    group, offset, count = optimizer.grad_position[optimizer.get_param_id(parameter)]
    if optimizer._swappable_optimizer_subgroup(group):  # noqa: SLF001
        return None
    return optimizer.fp32_partitioned_groups_flat[group].narrow(0, offset, count), "deepspeed fp32 master shard"


@guarded
def _sample(name: str, parameter: Any) -> dict[str, Any] | None:  # noqa: ANN401
    held, kind = _held(parameter)
    tensor, width = held.detach(), held.element_size()
    if tensor.device.type == "meta" or not tensor.is_contiguous():  # to flatten that would copy all of it
        return None
    part = tensor.view(-1)[: _LARGEST // width].cpu()
    size = part.numel() * width
    digest = hashlib.blake2b(ctypes.string_at(part.data_ptr(), size), digest_size=16).hexdigest()
    before, _digests[name] = _digests.get(name), digest
    return {
        "name": name[:300],
        "kind": kind,
        "dtype": str(tensor.dtype).replace("torch.", ""),
        "shape": list(tensor.shape),
        "bytes": size,
        "of_bytes": tensor.numel() * width,
        "blake2b": digest,
        "changed": None if before is None else before != digest,
    }
