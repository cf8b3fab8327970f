"""What has changed about the GPUs since the last look."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from grpotui_supervisor.source import gpu_records as records

if TYPE_CHECKING:
    from grpotui_supervisor.source.gpus import Ends, Event, Gpus


@dataclass(frozen=True, slots=True)
class GpuReturned:
    """The memory of a device is back at its baseline."""

    record: records.Returned


@dataclass(frozen=True, slots=True)
class GpuNotReturned:
    """It is not, or not yet, and why."""

    record: records.NotReturned


@dataclass(frozen=True, slots=True)
class GpuLost:
    """A device does not answer any more."""

    gpu: str
    reason: str


@dataclass(frozen=True, slots=True)
class GpuFound:
    """A lost device answers again."""

    gpu: str


@dataclass(frozen=True, slots=True)
class XidSeen:
    """The driver reported a fault of a device."""

    record: records.Xid


@dataclass(frozen=True, slots=True)
class NvmlChanged:
    """NVML could not be opened any more in the middle of the run, or again."""

    available: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class NvmlSilent:
    """A call to NVML has not come back for so long; 0: it has."""

    seconds: float


GpuChange = GpuReturned | GpuNotReturned | GpuLost | GpuFound | XidSeen | NvmlChanged | NvmlSilent


class GpuChanges:
    """Compares the devices with what they were at the last call."""

    def __init__(self) -> None:
        self._told = 0
        self._words: dict[str, records.Returned | records.NotReturned] = {}

    def of(self, gpus: Gpus, ends: Ends) -> list[GpuChange]:
        """First what happened, in its order, then which of the run's devices are back."""
        fresh = min(gpus.events_count - self._told, len(gpus.events))
        self._told = gpus.events_count
        happened = islice(gpus.events, len(gpus.events) - fresh, None)
        return [*map(_event, happened), *self._returns(gpus, ends)]

    def _returns(self, gpus: Gpus, ends: Ends) -> list[GpuChange]:
        found: list[GpuChange] = []
        for seen in gpus.devices:
            key, word = seen.device.gpu, seen.word(ends)
            if word is None or word == self._words.get(key):
                continue
            self._words[key] = word
            found.append(GpuReturned(word) if isinstance(word, records.Returned) else GpuNotReturned(word))
        return found


def _event(event: Event) -> GpuChange:
    match event:
        case records.Gone(gpu=gpu, reason=reason):
            return GpuLost(gpu, reason)
        case records.Back(gpu=gpu):
            return GpuFound(gpu)
        case records.Xid():
            return XidSeen(event)
        case records.Nvml(available=available, reason=reason):
            return NvmlChanged(available, reason)
        case records.Silent(seconds=seconds):
            return NvmlSilent(seconds)
