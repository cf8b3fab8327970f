"""All GPUs of the machine, read through NVML. Once it is open nothing raises, but any call may hang for ever."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from grpotui_supervisor.gpu.binding import LOST, NEVER, NO_PERMISSION, UNINITIALIZED, Binding, Fault
from grpotui_supervisor.gpu.handles import Handles
from grpotui_supervisor.gpu.memory import Memory
from grpotui_supervisor.gpu.process_lists import ProcessLists
from grpotui_supervisor.model.gpu import Device, Health, ProcessList, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui_supervisor.gpu.handles import Place
    from grpotui_supervisor.gpu.memory import Amounts
    from grpotui_supervisor.model.gpu import ProcessType

T = TypeVar("T")
_ALL: tuple[ProcessType, ...] = ("compute", "mps", "graphics")
_FOR_GOOD = NEVER | {NO_PERMISSION}
_UNCORRECTED, _SINCE_MADE, _DIE = 1, 1, 0
"""Values of nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlTemperatureSensors_t."""


class Nvml:
    """The open library. Handles are kept; a device that was lost is sought anew whenever it is asked for."""

    def __init__(self) -> None:
        """Opens it.

        Raises:
            GpuUnavailable: there is no driver library, or it does not answer, and why.
        """
        self.binding = Binding()
        self.handles = Handles(self.binding)
        self._memory = Memory(self.binding)
        self._lists = ProcessLists(self.binding)
        self._totals: dict[str, int | None] = {}
        self._never: dict[tuple[str, str], tuple[int | None, str]] = {}
        self.driver: str | None = self.binding.or_none(lambda: self.binding.text("nvmlSystemGetDriverVersion"))
        self.cuda = self._cuda()

    def close(self) -> None:
        """Lets the library go. Never while another thread is in a call: the library would fall under its feet."""
        self.binding.close()

    def devices(self) -> list[Device]:
        """All of them by index, MIG instances behind their parent; one that does not answer is said to be so."""
        return [self._device(place) for place in self.handles.places()]

    def read(self, key: str) -> Reading:
        """Memory, utilisation, power, temperature and clock reasons of a device."""
        try:
            return self._opened(functools.partial(self._read, key))
        except Fault as fault:
            self._noted(key, fault)
            return Reading(lost=str(fault))

    def processes(self, key: str, types: tuple[ProcessType, ...] = _ALL) -> ProcessList:
        """Who is on a device; each process once, with the most that any list says of it."""
        try:
            return self._opened(functools.partial(self._listed, key, types))
        except Fault as fault:
            self._noted(key, fault)
            return ProcessList(reason=str(fault))

    def _device(self, place: Place) -> Device:
        key, call = place.key, self.binding.call
        try:
            handle = self._opened(functools.partial(self.handles.of, key))
        except Fault as fault:
            return Device(
                key=key, index=place.index, uuid=self.handles.uuid(key), parent=place.parent, unavailable=str(fault)
            )
        amounts, unavailable = self._amounts(key, handle)
        ask = self.binding.or_none
        persistence = ask(lambda: call("nvmlDeviceGetPersistenceMode", handle))
        return Device(
            key=key,
            index=place.index,
            uuid=self.handles.uuid(key),
            name=ask(lambda: self.binding.text("nvmlDeviceGetName", handle)),
            bus_id=ask(lambda: self._bus_id(handle)),
            total_bytes=amounts.total if amounts else None,
            reserved_bytes=amounts.reserved if amounts else None,
            kind=ask(lambda: self._memory.kind(key, handle)),
            mig=place.mig,
            parent=place.parent,
            numa=ask(lambda: call("nvmlDeviceGetNumaNodeId", handle)) is not None,  # not supported on other platforms
            persistence=None if persistence is None else bool(persistence),
            unavailable=unavailable,
            health=self._health(handle) if place.parent is None else None,
        )

    def _amounts(self, key: str, handle: Any) -> tuple[Amounts | None, str | None]:  # noqa: ANN401
        """The device's memory, or why it cannot be read."""
        try:
            amounts = self._memory_of(key, handle)
        except Fault as fault:
            self._noted(key, fault)
            return None, str(fault) if fault.number in LOST else f"memory: {fault}"
        self._totals[key] = amounts.total
        return amounts, None

    def _memory_of(self, key: str, handle: Any) -> Amounts:  # noqa: ANN401
        return self._memory.read(key, handle, lambda: self._listed(key, ("compute", "mps")))

    def _bus_id(self, handle: Any) -> str:  # noqa: ANN401
        found = self.binding.call("nvmlDeviceGetPciInfo", handle).busId
        return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)

    def _health(self, handle: Any) -> Health:  # noqa: ANN401
        call, ask = self.binding.call, self.binding.or_none
        rows = ask(lambda: call("nvmlDeviceGetRemappedRows", handle))
        return Health(
            ecc_uncorrected=ask(lambda: call("nvmlDeviceGetTotalEccErrors", handle, _UNCORRECTED, _SINCE_MADE)),
            remap_pending=None if rows is None else bool(rows[2]),
            remap_failed=None if rows is None else bool(rows[3]),
        )

    def _read(self, key: str) -> Reading:
        handle = self.handles.of(key)
        absent: dict[str, str] = {}
        fields: dict[str, Any] = {}
        for name, ask in self._fields(key, handle):
            try:
                fields[name] = self._once(key, name, ask)
            except Fault as fault:
                if fault.number in LOST or fault.number == UNINITIALIZED:
                    raise
                absent[name] = str(fault)
        return Reading(**fields, absent=absent)

    def _fields(self, key: str, handle: Any) -> tuple[tuple[str, Callable[[], Any]], ...]:  # noqa: ANN401
        call = self.binding.call
        return (
            ("used_bytes", lambda: self._memory_of(key, handle).used),
            ("utilization_percent", lambda: int(call("nvmlDeviceGetUtilizationRates", handle).gpu)),
            ("power_w", lambda: call("nvmlDeviceGetPowerUsage", handle) / 1000),
            ("temperature_c", lambda: self._temperature(key, handle)),
            ("clock_reasons", lambda: self._clock_reasons(key, handle)),
        )

    def _temperature(self, key: str, handle: Any) -> int:  # noqa: ANN401
        """By the old name where the driver or the binding lacks the new one; the old is to go with CUDA 14."""
        return int(self._first(key, handle, "nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", _DIE))

    def _clock_reasons(self, key: str, handle: Any) -> int:  # noqa: ANN401
        """By the name that it had before driver 535 where the new one is not known."""
        names = "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
        return int(self._first(key, handle, *names))

    def _first(self, key: str, handle: Any, name: str, before: str, *words: int) -> Any:  # noqa: ANN401
        try:
            return self._once(key, name, lambda: self.binding.call(name, handle, *words))
        except Fault as fault:
            if fault.number not in NEVER:
                raise
        return self.binding.call(before, handle, *words)

    def _listed(self, key: str, types: tuple[ProcessType, ...]) -> ProcessList:
        handle = self.handles.of(key)
        return self._once(key, "processes", lambda: self._lists.read(handle, types, self._totals.get(key)))

    def _once(self, key: str, name: str, ask: Callable[[], T]) -> T:
        """The answer; a call that can never succeed is not made again, and its reason is kept."""
        known = self._never.get((key, name))
        if known is not None:
            raise Fault(*known)
        try:
            return ask()
        except Fault as fault:
            if fault.number in _FOR_GOOD:
                self._never[key, name] = (fault.number, str(fault))
            raise

    def _opened(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except Fault as fault:
            if fault.number != UNINITIALIZED or not self.binding.reopen():
                raise
        self.handles.forget_all()
        return ask()

    def _noted(self, key: str, fault: Fault) -> None:
        if fault.number in LOST:
            self.handles.forget(key)

    def _cuda(self) -> str | None:
        found = self.binding.or_none(lambda: self.binding.call("nvmlSystemGetCudaDriverVersion"))
        return None if found is None else f"{found // 1000}.{found % 1000 // 10}"
