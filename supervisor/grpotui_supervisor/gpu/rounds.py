"""One round after another over all devices: what is asked of which, and what is told of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from grpotui_supervisor.gpu.events import Event, Found, Lists, Readings
from grpotui_supervisor.gpu.xid import Xids
from grpotui_supervisor.model.gpu import ProcessList, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui_supervisor.gpu.nvml import Nvml
    from grpotui_supervisor.model.gpu import Device

T = TypeVar("T")
_LOST_AGAIN_S = 30.0
"""A lost device is asked no more often: on a dead bus each call may take seconds."""


class Ask(Protocol):
    """Puts a question to the driver; whoever waits for the answer can be told for how long."""

    def __call__(self, question: Callable[[], T]) -> T:
        """The answer, whatever the question raises included."""


class _Lost(NamedTuple):
    reason: str
    again_at: float


class Rounds:
    """Over the devices that were found, in order."""

    def __init__(self, nvml: Nvml, *, ask: Ask, say: Callable[[Event], None]) -> None:
        self._nvml = nvml
        self._ask = ask
        self._say = say
        self._devices: tuple[Device, ...] | None = None
        self._lost: dict[str, _Lost] = {}
        self._xids = Xids(nvml.binding, say)

    @property
    def empty(self) -> bool:
        """Whether there is no device to look at."""
        return not self._devices

    def find(self) -> None:
        """Looks for all devices, and says so if anything is new."""
        devices = tuple(self._ask(self._nvml.devices))
        if devices != self._devices:
            self._devices = devices
            self._say(Found(devices))
        self._xids.watch(self._handles(devices))

    def look(self, *, lists: bool) -> None:
        """Reads every device, and its processes where `lists` says so."""
        devices, m = self._devices or (), time.monotonic_ns()
        read = {device.key: self._read(device.key) for device in devices}
        self._say(Readings(m, read))
        if lists:
            m = time.monotonic_ns()
            self._say(Lists(m, {device.key: self._list(device.key) for device in devices}))
        if any(_is_back(device, read[device.key]) for device in devices):
            self.find()

    def close(self) -> bool:
        """Whether no other thread is left in the library."""
        return self._xids.close()

    def _read(self, key: str) -> Reading:
        lost = self._lost.get(key)
        if lost is not None and time.monotonic() < lost.again_at:
            return Reading(lost=lost.reason)
        reading = self._ask(lambda: self._nvml.read(key))
        if reading.lost is not None:
            self._lost[key] = _Lost(reading.lost, time.monotonic() + _LOST_AGAIN_S)
        elif self._lost.pop(key, None) is not None:
            self._xids.watch(self._handles(self._devices or ()))  # its handle is another one
        return reading

    def _list(self, key: str) -> ProcessList:
        lost = self._lost.get(key)
        return ProcessList(reason=lost.reason) if lost is not None else self._ask(lambda: self._nvml.processes(key))

    def _handles(self, devices: tuple[Device, ...]) -> dict[str, Any]:
        """Of those that have one: faults are told of whole devices."""
        kept = {device.key: self._nvml.handles.kept(device.key) for device in devices if device.parent is None}
        return {key: handle for key, handle in kept.items() if handle is not None}


def _is_back(device: Device, reading: Reading) -> bool:
    """Whether a device answers now that could not be described."""
    answers = reading.lost is None and (device.uuid is None or reading.used_bytes is not None)
    return device.unavailable is not None and answers
