"""The driver's process lists, in every record layout that drivers have had."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.gpu.binding import INSUFFICIENT_SIZE, NEVER, Fault
from grpotui_supervisor.model.gpu import GpuProcess, ProcessList

if TYPE_CHECKING:
    from grpotui_supervisor.gpu.binding import Binding
    from grpotui_supervisor.model.gpu import ProcessType

_NAMES: tuple[tuple[ProcessType, str], ...] = (
    ("compute", "nvmlDeviceGetComputeRunningProcesses"),
    ("mps", "nvmlDeviceGetMPSComputeRunningProcesses"),
    ("graphics", "nvmlDeviceGetGraphicsRunningProcesses"),
)
_RACES = 3
"""New processes may come while the room for them is made: so often it is made larger."""
_ROOM, _LARGEST = 32, 1 << 14
"""Records; the kernel module tells 950 processes at most (ctrl2080gpu.h)."""
_NOT_TOLD = (1 << 64) - 1
_NO_INSTANCE, _INSTANCES = 0xFFFFFFFF, 256
_HIGHEST_PID = 1 << 22
_GARBLED = "the driver's list is garbled, as by drivers 535.43 to 535.86"


class _Record1(ctypes.Structure):
    _fields_ = (("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong))


class _Record2(ctypes.Structure):
    _fields_ = (*_Record1._fields_, ("instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint))


class _Record535(ctypes.Structure):
    _fields_ = (*_Record2._fields_, ("protected", ctypes.c_ulonglong))


class ProcessLists:
    """Asks for them, and trusts a list only if every record in it can be one."""

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self._suffix, self._record = _layout(binding)
        self._room = _ROOM

    def read(self, handle: Any, types: tuple[ProcessType, ...], total_bytes: int | None) -> ProcessList:  # noqa: ANN401
        """Each process once, with the most that any list says of it; `total_bytes`: no process has more.

        Raises:
            Fault: the compute list cannot be read.
        """
        found: dict[int, GpuProcess] = {}
        for kind, name in _NAMES:
            if kind not in types:
                continue
            try:
                listed = self._list(name + self._suffix, handle)
            except Fault as fault:
                if kind == "compute":
                    raise
                if fault.number in NEVER:
                    continue  # there is no such list
                raise Fault(fault.number, f"{kind} list: {fault}") from fault
            if any(_wrong(record, total_bytes) for record in listed):
                return ProcessList(reason=_GARBLED)
            for record in listed:
                _keep(found, record, kind)
        return ProcessList(processes=tuple(found.values()))

    def _list(self, name: str, handle: Any) -> list[Any]:  # noqa: ANN401
        function, count = self._binding.pointer(name), ctypes.c_uint()
        for _ in range(_RACES):
            records = (self._record * self._room)()
            count.value = self._room
            returned = function(handle, ctypes.byref(count), records)
            if returned != INSUFFICIENT_SIZE:
                self._binding.check(returned)
                return list(records[: count.value])
            self._room = min(max(2 * self._room, count.value + _ROOM), _LARGEST)
        raise Fault(INSUFFICIENT_SIZE, "processes come faster than they can be listed")


def _layout(binding: Binding) -> tuple[str, type[ctypes.Structure]]:
    """The newest version that the driver has, and its record.

    Drivers 535.43 to 535.86 write 32 bytes a record under the name of a version of 24 bytes. They are told by what
    else they have, as nvitop does (libnvml.py).
    """
    name = _NAMES[0][1]
    if binding.has(f"{name}_v3"):
        odd = binding.has("nvmlDeviceGetConfComputeMemSizeInfo")
        odd = odd and not binding.has("nvmlDeviceGetRunningProcessDetailList")
        return "_v3", _Record535 if odd else _Record2
    return ("_v2", _Record2) if binding.has(f"{name}_v2") else ("", _Record1)


def _wrong(record: Any, total_bytes: int | None) -> bool:  # noqa: ANN401
    """Whether it cannot be a record: then the others are not to be trusted either."""
    if not 0 < record.pid <= _HIGHEST_PID:
        return True
    if record.used != _NOT_TOLD and total_bytes is not None and record.used > total_bytes:
        return True
    instance = getattr(record, "instance", _NO_INSTANCE)
    return bool(instance != _NO_INSTANCE and instance >= _INSTANCES)


def _keep(found: dict[int, GpuProcess], record: Any, kind: ProcessType) -> None:  # noqa: ANN401
    """In a pid namespace the same pid may be listed twice; the figures are of one process, and never added."""
    known, used = found.get(record.pid), None if record.used == _NOT_TOLD else int(record.used)
    if known is None:
        found[record.pid] = GpuProcess(pid=int(record.pid), type=kind, used_bytes=used)
    elif used is not None and used > (known.used_bytes or 0):
        found[record.pid] = GpuProcess(pid=known.pid, type=known.type, used_bytes=used)
