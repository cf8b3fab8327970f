"""What the run's record says of its GPUs: which are its own, and how each was before the first rank started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from grpotui_supervisor.gpu.reasons import Baseline, Ground
from grpotui_supervisor.model.gpu import MemoryKind, ProcessType  # noqa: TC001  (msgspec looks them up)
from grpotui_supervisor.model.holders import Holder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.gpu.ownership import Identity
    from grpotui_supervisor.model.gpu import Device


class _Process(msgspec.Struct):
    pid: int
    start: int | None
    name: str | None
    user: str | None
    type: ProcessType
    used_bytes: int | None


class _Device(msgspec.Struct):
    gpu: str
    uuid: str | None
    in_run: bool
    used_bytes: int | None
    kind: MemoryKind | None
    total_bytes: int | None = None
    numa: bool = False
    processes: list[_Process] = []
    processes_reason: str | None = None


class _Gpus(msgspec.Struct):
    devices: list[_Device]


@dataclass(frozen=True, slots=True)
class Grounds:
    """The baseline of a run."""

    _devices: tuple[_Device, ...]
    _why_none: str

    def is_in_run(self, device: Device, parents: frozenset[str]) -> bool:
        """Whether it is one of the run's devices; without a baseline all are, but those split into `parents`' parts."""
        known = self._known(device)
        if not self._devices:
            return device.uuid not in parents
        return known is not None and known.in_run

    def ground(self, device: Device) -> Ground:
        """What the device is to be held against."""
        known = self._known(device)
        why_none = device.unavailable
        if why_none is None and known is None:
            why_none = f"there is no baseline to compare with: {self._why_none}"
        return Ground(
            total_bytes=device.total_bytes,
            kind=device.kind,
            numa=device.numa,
            baseline=None if known is None else _baseline(known),
            why_none=why_none,
        )

    def unread(self, why: str) -> dict[str, Ground]:
        """The run's devices by their names in the baseline, where none can be read any more."""
        return {
            known.gpu: Ground(total_bytes=known.total_bytes, kind=known.kind, baseline=_baseline(known), why_none=why)
            for known in self._devices
            if known.in_run
        }

    def identities(self) -> frozenset[Identity]:
        """The processes that were there before."""
        listed = [process for device in self._devices for process in device.processes]
        return frozenset((process.pid, process.start) for process in listed if process.start is not None)

    def _known(self, device: Device) -> _Device | None:
        """By UUID: the number of a device is its place on the bus."""
        for known in self._devices:
            if (known.uuid == device.uuid) if known.uuid and device.uuid else known.gpu == device.key:
                return known
        return None


def grounds(facts: Mapping[str, Any]) -> Grounds:
    """The baseline in run.json."""
    document = facts.get("gpus")
    if not document:
        return Grounds((), str(facts.get("gpu_unavailable") or "none was taken before the run"))
    try:
        return Grounds(tuple(msgspec.convert(document, _Gpus).devices), "it was not there before the run")
    except msgspec.ValidationError as error:
        return Grounds((), f"that of run.json cannot be read ({error})")


def _baseline(known: _Device) -> Baseline:
    return Baseline(
        used_bytes=known.used_bytes,
        kind=known.kind,
        processes=tuple(
            Holder(
                pid=p.pid, start=p.start, name=p.name, user=p.user, type=p.type, used_bytes=p.used_bytes, owner="before"
            )
            for p in known.processes
        ),
        list_reason=known.processes_reason,
    )
