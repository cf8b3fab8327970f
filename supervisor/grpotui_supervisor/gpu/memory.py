"""How much memory of a device is used, by the one kind of figure that the device was first read with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.gpu.binding import NEVER, OTHER_VERSION, Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui_supervisor.gpu.binding import Binding
    from grpotui_supervisor.model.gpu import MemoryKind, ProcessList


@dataclass(frozen=True, slots=True)
class Amounts:
    """Bytes of one reading; None: this kind of figure does not tell."""

    kind: MemoryKind
    used: int
    total: int | None = None
    reserved: int | None = None


class Memory:
    """Remembers the kind of each device: figures of two kinds cannot be compared."""

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self._kinds: dict[str, MemoryKind] = {}

    def kind(self, key: str, handle: Any) -> MemoryKind:  # noqa: ANN401
        """Decided by the first question that is answered, or answered with "never".

        Raises:
            Fault: the driver gave neither answer.
        """
        if key not in self._kinds:
            self._kinds[key] = self._decide(handle)
        return self._kinds[key]

    def read(self, key: str, handle: Any, listed: Callable[[], ProcessList]) -> Amounts:  # noqa: ANN401
        """`listed`: the device's compute and MPS processes, for a device that has no memory of its own.

        Raises:
            Fault: it could not be read this time.
        """
        kind = self.kind(key, handle)
        if kind == "lists":
            return Amounts(kind, _sum(listed()))
        found = self._info(handle, kind)
        total, free = int(found.total), int(found.free)
        if kind == "v1":
            return _plausible(Amounts(kind, int(found.used), total))
        reserved = int(found.reserved)  # `used` is with it in nvml.h's prose and without it on the devices
        return _plausible(Amounts(kind, total - free - reserved, total, reserved))

    def _info(self, handle: Any, kind: MemoryKind) -> Any:  # noqa: ANN401
        more = {"version": self._binding.constant("nvmlMemory_v2")} if kind == "v2" else {}
        return self._binding.call("nvmlDeviceGetMemoryInfo", handle, **more)

    def _decide(self, handle: Any) -> MemoryKind:  # noqa: ANN401
        kinds: tuple[MemoryKind, ...] = ("v2", "v1")
        for kind in kinds:
            try:
                return kind if self._info(handle, kind).total else "lists"
            except Fault as fault:
                if fault.number not in NEVER and fault.number != OTHER_VERSION:
                    raise
        return "lists"


def _sum(listed: ProcessList) -> int:
    if listed.reason is not None:
        raise Fault(None, listed.reason)
    used = [process.used_bytes for process in listed.processes]
    if None in used:
        raise Fault(None, "the driver does not tell the memory of each process")
    return sum(size or 0 for size in used)


def _plausible(amounts: Amounts) -> Amounts:
    if not 0 <= amounts.used <= (amounts.total or 0):
        raise Fault(None, "the driver's figures of the memory contradict each other")
    return amounts
