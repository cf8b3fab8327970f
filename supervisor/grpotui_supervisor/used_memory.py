"""What a run really used of its GPUs, beside what the plan of its profile says it needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpotui_supervisor import planning
from grpotui_supervisor.errors import PlanError
from grpotui_supervisor.model.checking import check
from grpotui_supervisor.model.profile import Profile
from grpotui_supervisor.model.profile_rules import RULES
from grpotui_supervisor.plan.machine import Machine
from grpotui_supervisor.source import growth
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.planning import Planned
    from grpotui_supervisor.rundir import RunDirectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device of the run; bytes, of its own kind of reading."""

    gpu: str
    total_bytes: int | None
    baseline_bytes: int | None
    """In use before the run; None where that is not known."""
    peak_bytes: int
    """The most of all readings: about one a second, so a shorter peak is not seen."""
    readings: int
    phases: Mapping[str, int]
    """The most in each phase; empty where nobody told the phases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Torch:
    """The most that torch's allocator says it held of one device, in one process."""

    member: str
    device: int
    max_allocated_bytes: int
    max_reserved_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Both sides. A side that is not known is empty, and says why."""

    run: str
    planned: Planned | None
    unplanned: str | None
    """Why there is no plan."""
    devices: tuple[Device, ...]
    unread: str | None
    """Why there are no devices."""
    torch: tuple[Torch, ...]


def of_run(directory: RunDirectory, *, machine: Machine | None = None, model: str | None = None) -> Used:
    """Of a run that has ended, or of one so far. `machine` and `model` go before what is on record."""
    source = Source(directory)
    source.update(None)
    devices = tuple(_devices(source))
    planned, unplanned = _planned(source, machine, model)
    return Used(
        run=directory.run_id,
        planned=planned,
        unplanned=unplanned,
        devices=devices,
        unread=None if devices else source.gpus.unavailable or "no reading of a device of the run is on record",
        torch=tuple(
            Torch(
                member=member,
                device=device,
                max_allocated_bytes=found.max_allocated_bytes,
                max_reserved_bytes=found.max_reserved_bytes,
            )
            for (member, _, device), found in sorted(source.probes.memory.items())
        ),
    )


def _devices(source: Source) -> list[Device]:
    baselines = {seen.device.gpu: seen.baseline_bytes for seen in source.gpus.devices}
    return [
        Device(
            gpu=device.gpu,
            total_bytes=device.total_bytes,
            baseline_bytes=baselines[device.gpu],
            peak_bytes=max(device.used),
            readings=len(device.used),
            phases=growth.phase_peaks(device, source.phase_times),
        )
        for device in growth.devices_of(source)
        if len(device.used)
    ]


def _planned(source: Source, machine: Machine | None, model: str | None) -> tuple[Planned | None, str | None]:
    facts = source.facts
    profile, _ = check(Profile, _without_none(facts.get("profile")), rules=RULES)
    if profile is None:
        return None, "the profile on record is not one of this version"
    folder = os.path.dirname(str(facts.get("profile_path") or ""))
    machine = machine or _machine(source, planning.command_of(profile).world) or planning.machine_of(profile)
    try:
        return planning.of_profile(profile, machine, model=model, folder=folder), None
    except PlanError as error:
        return None, str(error)


def _machine(source: Source, cards: int) -> Machine | None:
    """So many of the run's cards, as they were found."""
    sizes = [seen.device.total_bytes for seen in source.gpus.devices if seen.device.in_run]
    known = [size for size in sizes if size]
    return Machine(cards=cards, card_bytes=min(known)) if known and len(known) == len(sizes) else None


def _without_none(value: object) -> object:
    """The profile as its file could have it: there what is not set does not stand."""
    if isinstance(value, dict):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, list) else value
