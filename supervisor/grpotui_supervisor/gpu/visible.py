"""Which devices belong to a run. Pure.

The profile's `[gpus] devices` decides; without it CUDA_VISIBLE_DEVICES of each process that is started, by CUDA's own
rules; without that all devices do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grpotui_supervisor.model.gpu import Device

VARIABLE = "CUDA_VISIBLE_DEVICES"
_NUMBER = re.compile(r"\s*\+?(\d{1,6})\s*")


def chosen(
    wanted: Sequence[int | str] | None, visible: Iterable[str | None], devices: Sequence[Device]
) -> frozenset[str]:
    """Keys of the devices that belong to the run.

    Args:
        wanted: of the profile: indices, UUIDs, unique beginnings of them, keys of MIG instances; None: not said.
        visible: CUDA_VISIBLE_DEVICES of each process; None: not set there.
        devices: all of the machine.

    Raises:
        UsageError: the profile names a device that is not there, or that several fit.
    """
    if wanted is not None:
        return frozenset(found.key for word in wanted for found in _named(word, devices))
    return frozenset(found.key for value in visible for found in seen_by_cuda(value, devices))


def seen_by_cuda(value: str | None, devices: Sequence[Device]) -> list[Device]:
    """The devices that CUDA shows to a process with that CUDA_VISIBLE_DEVICES, in its order.

    Numbers, or beginnings of UUIDs, up to the first that names no device; a device named twice hides all. A number of a
    device that is split stands for its instances, of which CUDA shows one. Of instances named by UUID only the first
    is shown.
    """
    if value is None:
        return _usable(devices)
    found: list[Device] = []
    by_number = None
    for word in value.split(","):
        number = _NUMBER.fullmatch(word)
        if by_number is None:
            by_number = number is not None
        one = _by_number(int(number[1]), devices) if number else _by_uuid(word.strip(), devices)
        if one is None or by_number != (number is not None):
            break
        if one in found:
            return []
        found.append(one)
        if one.parent is not None:
            break
    return [part for one in found for part in _parts(one, devices)]


def is_ambiguous(value: str | None, order: str | None, devices: Sequence[Device]) -> bool:
    """Whether CUDA_VISIBLE_DEVICES has numbers that cannot be told from here: CUDA orders unlike devices by speed."""
    numbers = value is not None and _NUMBER.fullmatch(value.partition(",")[0]) is not None
    return numbers and order != "PCI_BUS_ID" and len({d.name for d in devices if d.parent is None}) > 1


def _named(word: int | str, devices: Sequence[Device]) -> list[Device]:
    """What a word of the profile means; of a device that is split all its instances."""
    if isinstance(word, int):
        one = _by_number(word, devices)
    else:
        one = next((d for d in devices if d.key == word), None) or _by_uuid(word, devices)
    if one is None:
        several = isinstance(word, str) and bool(word) and sum(_begins(d, word) for d in devices) > 1
        fault = "fits several devices" if several else "is not on this machine"
        raise UsageError(f"the GPU {word!r} of the profile ([gpus] devices) {fault}", hint=_there(devices))
    return _parts(one, devices)


def _there(devices: Sequence[Device]) -> str:
    if not devices:
        return "there is none"
    return "there are: " + ", ".join(f"{d.key} ({d.uuid or d.unavailable})" for d in devices)


def _by_number(index: int, devices: Sequence[Device]) -> Device | None:
    return next((d for d in devices if d.index == index and d.parent is None), None)


def _by_uuid(word: str, devices: Sequence[Device]) -> Device | None:
    fitting = [d for d in devices if word and _begins(d, word)]
    exact = [d for d in fitting if d.uuid == word]
    return exact[0] if exact else fitting[0] if len(fitting) == 1 else None


def _begins(device: Device, word: str) -> bool:
    return word.startswith(("GPU-", "MIG-")) and device.uuid is not None and device.uuid.startswith(word)


def _usable(devices: Sequence[Device]) -> list[Device]:
    return [part for d in devices if d.parent is None for part in _parts(d, devices)]


def _parts(device: Device, devices: Sequence[Device]) -> list[Device]:
    """The instances of a device that is split; else the device itself."""
    parts = [d for d in devices if d.uuid is not None and d.parent is not None and d.parent == device.uuid]
    return parts or [device]
