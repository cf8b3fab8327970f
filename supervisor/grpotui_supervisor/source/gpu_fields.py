"""The GPUs as fields of the status document. Three readings stay apart: torch's two, and the driver's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from grpotui_supervisor.model.gpu import slowed
from grpotui_supervisor.source.gpu_records import NotReturned, Returned
from grpotui_supervisor.source.progress_fields import age, now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.model.members import Leftover, Member
    from grpotui_supervisor.source.gpus import Seen
    from grpotui_supervisor.source.source import Source

NOT_READ = "not read yet"


def gpu_fields(source: Source) -> dict[str, Any]:
    """`gpus`, `gpu_unavailable` and `gpu_silent_s`."""
    silent = source.gpus.silent_s(now(source))
    return {
        "gpus": [_device(source, seen) for seen in source.gpus.devices],
        "gpu_unavailable": source.gpus.unavailable,
        "gpu_silent_s": None if silent is None else round(silent, 3),
    }


def leftover_fields(source: Source, left: Leftover) -> dict[str, Any]:
    """What outlived its ranks, and what of the devices it holds as last listed."""
    return {
        "pid": left.pid,
        "name": left.name,
        "member": left.member,
        **_held(source.gpus.held_by(left.pid, left.start)),
    }


def member_gpu_fields(source: Source, member: Member) -> dict[str, Any]:
    """What the processes of a member hold on the devices, as last listed; what has ended holds nothing."""
    return _held(source.gpus.held_by_member(member.key) if member.is_open else {})


def _held(held: Mapping[str, int | None]) -> dict[str, Any]:
    told = [one for one in held.values() if one is not None]
    return {"gpus": list(held), "gpu_bytes": sum(told) if held and len(told) == len(held) else None}


def _device(source: Source, seen: Seen) -> dict[str, Any]:
    device, reading, processes = seen.device, seen.reading, seen.processes
    readable = processes is not None and processes.reason is None
    return {
        **{name: getattr(device, name) for name in _STATIC},
        "baseline_bytes": seen.baseline_bytes,
        "used_bytes": None if reading is None else reading.used,
        "utilization_percent": None if reading is None else reading.util,
        "power_w": None if reading is None else reading.power,
        "temperature_c": None if reading is None else reading.temp,
        "slowed": list(slowed(None if reading is None else reading.clocks)),
        "absent": dict(seen.absent),
        "sample_age_s": age(source, seen.reading_m),
        "unavailable": seen.lost or source.gpus.nvml_unavailable or device.unavailable or _unread(seen),
        "processes": [msgspec.structs.asdict(one) for one in processes.entries] if processes and readable else None,
        "processes_reason": NOT_READ if processes is None else processes.reason,
        "unattributed_bytes": seen.unattributed_bytes,
        "xids": [
            {"xid": one.xid, "name": one.name, "severity": one.severity, "age_s": age(source, one.m)}
            for one in seen.xids
        ],
        **_return(source, seen),
    }


_STATIC = ("gpu", "index", "uuid", "name", "kind", "in_run", "total_bytes", "reserved_bytes")


def _unread(seen: Seen) -> str | None:
    return NOT_READ if seen.reading is None else None


def _return(source: Source, seen: Seen) -> dict[str, Any]:
    match seen.word(source.ends):
        case Returned(seconds=seconds):
            return {"returned": True, "returned_s": seconds, "reason": None, "evidence": None, "final": True}
        case NotReturned(reason=reason, evidence=evidence, final=final):
            return {"returned": False, "returned_s": None, "reason": reason, "evidence": evidence, "final": final}
        case None:
            return {"returned": None, "returned_s": None, "reason": None, "evidence": None, "final": None}
