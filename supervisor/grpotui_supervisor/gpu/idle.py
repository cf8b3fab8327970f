"""Whether a device is idle, and who holds it. Pure; what cannot be told is unknown, and never idle."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from grpotui_supervisor.model.wording import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grpotui_supervisor.gpu.naming import Who
    from grpotui_supervisor.model.gpu import Device, GpuProcess, ProcessList, Reading

MPS_SERVER = "nvidia-cuda-mps-server"
_MIB = 1 << 20
_SPARE = MappingProxyType({"v2": 512 * _MIB, "v1": 1536 * _MIB})
"""What an idle device may have in use, by the kind of the reading: v1 counts what the driver keeps for itself, which is
615 MiB on an idle H200 and up to 1 GiB elsewhere."""
_NAMED = 3
"""So many holders are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One device as it was found."""

    device: Device
    reading: Reading
    listed: ProcessList
    who: Mapping[int, Who] = field(default_factory=lambda: MappingProxyType({}))
    """Who the listed processes are, by pid."""

    @property
    def label(self) -> str:
        """What people call it."""
        return f"GPU {self.device.key}"

    @property
    def unattributed_bytes(self) -> int | None:
        """Bytes in use that no listed process accounts for; None: either is not told in full."""
        used, shares = self.reading.used_bytes, [p.used_bytes for p in self.listed.processes]
        if used is None or self.listed.reason is not None or None in shares:
            return None
        return used - sum(share or 0 for share in shares)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether the device is idle (None: cannot be told), and on what ground."""

    idle: bool | None
    evidence: str


def judge(seen: Seen) -> Judgement:
    """Idle: no compute process but an MPS server, and no more in use than an idle device has."""
    holders = [p for p in seen.listed.processes if p.type != "graphics" and not _is_mps_server(seen, p)]
    if holders:
        return Judgement(False, f"{seen.label} is not idle: {_held_by(seen, holders)}")
    lost = seen.device.unavailable or seen.reading.lost
    if lost is not None:
        return Judgement(None, f"{seen.label} cannot be read: {lost}")
    if seen.device.kind == "lists" or seen.device.numa:
        return _by_the_list(seen)
    return _by_the_bytes(seen)


def spare_bytes(device: Device) -> int | None:
    """What a device may have in use and count as idle; None: its bytes say nothing about that."""
    return None if device.numa or device.kind is None else _SPARE.get(device.kind)


def _by_the_list(seen: Seen) -> Judgement:
    """Its memory is the host's, or stays with the host when a process ends."""
    if seen.listed.reason is not None:
        return _unknown(seen, f"its process list cannot be read: {seen.listed.reason}")
    return Judgement(True, f"{seen.label} is idle: no process is listed (its memory is the host's, and says nothing)")


def _by_the_bytes(seen: Seen) -> Judgement:
    used, limit = seen.reading.used_bytes, spare_bytes(seen.device) or 0
    if used is None:
        return _unknown(seen, f"its memory is not read: {seen.reading.absent.get('used_bytes', 'no answer')}")
    exempt = [p.used_bytes for p in seen.listed.processes]
    spare = used - sum(share or 0 for share in exempt)
    if seen.listed.reason is not None:
        why = f"who holds them is not told: {seen.listed.reason}"
        if spare > limit:
            return Judgement(False, f"{seen.label} is not idle: {size(spare)} are used, and {why}")
        return _unknown(seen, f"its process list cannot be read: {seen.listed.reason}")
    if spare <= limit:
        return Judgement(True, f"{seen.label} is idle: {size(used)} used, no compute process")
    if None in exempt:
        return _unknown(seen, f"{size(spare)} are used, and it is not told what of them is the display's or MPS's")
    text = f"{size(spare)} are used by nobody visible here: another container?"
    return Judgement(False, f"{seen.label} is not idle: {text}")


def _unknown(seen: Seen, why: str) -> Judgement:
    return Judgement(None, f"whether {seen.label} is idle is not known: {why}")


def _is_mps_server(seen: Seen, process: GpuProcess) -> bool:
    """It is listed as a compute process and stays for ever; its clients are listed by themselves."""
    known = seen.who.get(process.pid)
    return known is not None and known.name == MPS_SERVER


def _held_by(seen: Seen, holders: Iterable[GpuProcess]) -> str:
    ordered = sorted(holders, key=lambda p: (-(p.used_bytes or 0), p.pid))
    words = [_holder(seen.who.get(p.pid), p) for p in ordered[:_NAMED]]
    more = len(ordered) - len(words)
    return ", ".join(words) + (f", and {more} more" if more > 0 else "")


def _holder(who: Who | None, process: GpuProcess) -> str:
    if who is None or who.start is None:
        name = f"pid {process.pid} (not visible here)"
    else:
        name = f"{who.name} (pid {process.pid}, {who.user or 'user unknown'})"
    return f"{name} is on it" if process.used_bytes is None else f"{name} holds {size(process.used_bytes)}"
