"""What the hook recorded, as fields of the status document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grpotui_supervisor.source.probes import Parameters, Probes


def fields(probes: Probes, now: int | None) -> dict[str, Any]:
    """Torch's memory and the parameters; each a list, empty where nothing was recorded."""
    return {
        "torch_memory": [
            {
                "member": member,
                "pid": pid,
                "device": device,
                "allocated_bytes": found.allocated_bytes,
                "reserved_bytes": found.reserved_bytes,
                "max_allocated_bytes": found.max_allocated_bytes,
                "max_reserved_bytes": found.max_reserved_bytes,
                "age_s": None if now is None else round(max(0, now - found.m) / 1e9, 3),
            }
            for (member, pid, device), found in sorted(probes.memory.items())
        ],
        "parameters": [_parameters(member, pid, found) for (member, pid), found in sorted(probes.parameters.items())],
    }


def _parameters(member: str, pid: int, found: Parameters) -> dict[str, Any]:
    names = ("name", "kind", "dtype", "bytes", "of_bytes", "changed")
    return {
        "member": member,
        "pid": pid,
        "samples": found.samples,
        "first_step": found.first_step,
        "last_step": found.last_step,
        "changed": found.changed,
        "tensors": [{name: getattr(tensor, name) for name in names} for tensor in found.tensors],
    }
