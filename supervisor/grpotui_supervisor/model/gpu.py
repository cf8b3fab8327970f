"""What is read of a GPU, as values. Sizes are bytes; what could not be read is None, with the reason beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

MemoryKind = Literal["v2", "v1", "lists"]
"""How `used` was read. `v2`: without what the driver reserves for itself. `v1`: with it (615 MiB on an idle H200).
`lists`: the sum over the listed processes, on devices that share the host's memory. Never compared across kinds."""

ProcessType = Literal["compute", "mps", "graphics"]

SLOWED = MappingProxyType({0x8: "HW slowdown", 0x20: "SW thermal", 0x40: "HW thermal", 0x80: "HW power brake"})
"""Clock-event reasons of nvml.h that mean trouble; the power cap (0x4) is normal at full load."""

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Signs of failing memory. A field is None where the device does not tell."""

    ecc_uncorrected: int | None = None
    """Errors that could not be corrected, since the device was made."""
    remap_pending: bool | None = None
    """A row of the memory is to be replaced at the next reset; until then the fault is contained."""
    remap_failed: bool | None = None
    """There is no spare row left: the device has to be exchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device, or one MIG instance. What does not change while the driver is loaded."""

    key: str
    """NVML index as text; of a MIG instance `<parent>:<instance>`. It names a device within one boot only."""
    index: int
    """NVML index; of a MIG instance its parent's."""
    uuid: str | None
    """None: the device did not answer."""
    name: str | None = None
    bus_id: str | None = None
    total_bytes: int | None = None
    reserved_bytes: int | None = None
    """What the driver keeps for itself; None where `kind` is not `v2`."""
    kind: MemoryKind | None = None
    """None: its memory cannot be read, and `unavailable` says why."""
    mig: bool = False
    """It is split into MIG instances, which are listed as devices of their own."""
    parent: str | None = None
    """UUID of the device that this MIG instance is a part of."""
    numa: bool = False
    """A NUMA node of the host: its pages are not given back when a process ends (nvml.h at nvmlDeviceGetMemoryInfo)."""
    persistence: bool | None = None
    """Whether the driver stays attached without a client."""
    unavailable: str | None = None
    """Why the device, or its memory, cannot be read."""
    health: Health | None = None
    """As of when the device was looked for; None: it did not answer, or is a MIG instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is read once a second."""

    used_bytes: int | None = None
    utilization_percent: int | None = None
    """Share of the last 1/6 to 1 s in which a kernel ran: 100 is not "busy"."""
    power_w: float | None = None
    """Mean of the last second on most devices."""
    temperature_c: int | None = None
    clock_reasons: int | None = None
    """Bits of nvmlClocksEventReason."""
    absent: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """By the name of a field that is None: why."""
    lost: str | None = None
    """Why the device does not answer at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process that the driver lists on a device."""

    pid: int
    """As the driver tells it: in the caller's pid namespace, or of another one, or the host's."""
    type: ProcessType
    used_bytes: int | None = None
    """None: the driver does not tell (WSL, vGPU, some containers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessList:
    """Who is on a device, as far as the driver tells; an empty list does not prove that nobody is."""

    processes: tuple[GpuProcess, ...] = ()
    reason: str | None = None
    """Why the list cannot be read; None: it was read."""


def tolerance(total_bytes: int | None) -> int:
    """By how many bytes a device may exceed its baseline and count as back: max(64 MiB, 0.1 % of its memory).

    A bare CUDA context is larger (248 MiB seen); drift and residues of the driver are smaller.
    """
    return max(64 * _MIB, (total_bytes or 0) // 1000)


def slowed(clock_reasons: int | None) -> tuple[str, ...]:
    """The reasons among the bits that mean trouble, in words."""
    return tuple(word for bit, word in SLOWED.items() if (clock_reasons or 0) & bit)
