"""Sections of the status document about host memory, and about kills for want of memory around an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui_supervisor.source.progress_fields import age

if TYPE_CHECKING:
    from grpotui_supervisor.model.members import Member
    from grpotui_supervisor.source.source import Source

_SIZES = (
    *("memory_total_bytes", "memory_available_bytes", "swap_total_bytes", "swap_free_bytes", "shm_total_bytes"),
    *("shm_used_bytes", "cgroup", "cgroup_unavailable", "oom_kills"),
)


def host_fields(source: Source) -> dict[str, Any] | None:
    """The machine as last recorded, with the cgroup and the shared memory of the first rank or the driver."""
    record = source.machine
    if record is None:
        return None
    return {name: record.get(name) for name in _SIZES} | {"age_s": age(source, record["m"])}


def oom_fields(source: Source, member: Member) -> dict[str, Any] | None:
    """By how much the OOM-kill counters rose between the samples around the member's end; None where none was seen to.

    That a counter rose does not say whose death it counted: another process of the cgroup, or of the machine, may have
    been killed at the same time.
    """
    record = None if member.is_open else source.deaths.get((member.key, member.pid))
    if record is None:
        return None
    kernel, own = _rise(record, "oom_kills"), _rise(record, "cgroup_oom_kills")
    if not kernel and not own:
        return None
    return {"kernel_kills": kernel, "cgroup_kills": own, "age_s": record["before_age_s"]}


def _rise(record: dict[str, Any], counter: str) -> int | None:
    before, after = record[f"{counter}_before"], record[f"{counter}_after"]
    return None if before is None or after is None else max(0, after - before)
