"""Faults that the driver reports by itself (Xid), waited for in a thread of its own: waiting blocks."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.gpu.binding import TIMEOUT, Fault
from grpotui_supervisor.gpu.events import Xid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grpotui_supervisor.gpu.binding import Binding

_WAIT_MS = 1000
_AGAIN_S = 30.0
"""After a failure, such as a device that is lost, the wait is set up anew."""
_JOIN_S = 1.5


class Xids:
    """Waits for the faults of whole devices; of MIG instances they are told with the device."""

    def __init__(self, binding: Binding, say: Callable[[Xid], None]) -> None:
        self._binding = binding
        self._say = say
        self._wanted: Mapping[str, Any] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpu-xid", daemon=True)

    def watch(self, handles: Mapping[str, Any]) -> None:
        """Waits for faults of these devices too, within a second. What happened before is not told by the driver."""
        self._wanted = dict(handles)
        if self._wanted and self._thread.ident is None:
            self._thread.start()

    def close(self) -> bool:
        """Whether the thread has ended: otherwise it is in the library, which must stay open."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                events = self._binding.call("nvmlEventSetCreate")
            except Fault:
                return  # this driver or this kind of device has no events
            if not self._wait(events):
                return
            self._over.wait(_AGAIN_S)

    def _wait(self, events: Any) -> bool:  # noqa: ANN401
        """Until it is over or a call fails; whether it is worth another try."""
        keys: dict[int | None, str] = {}
        tried: Mapping[str, Any] = {}
        try:
            while not self._over.is_set():
                if tried is not self._wanted:
                    tried = self._wanted
                    keys.update(self._registered(events, tried))
                if not keys:
                    self._over.wait(_WAIT_MS / 1000)
                    continue
                self._next(events, keys)
        except Fault:
            return True
        finally:
            self._binding.or_none(lambda: self._binding.call("nvmlEventSetFree", events))
        return False

    def _registered(self, events: Any, handles: Mapping[str, Any]) -> dict[int | None, str]:  # noqa: ANN401
        """The keys of the devices that have such events, by the address of their handle: an event tells that one."""
        call, kind = self._binding.call, self._binding.constant("nvmlEventTypeXidCriticalError")
        found = {}
        for key, handle in handles.items():
            try:
                if call("nvmlDeviceGetSupportedEventTypes", handle) & kind:
                    call("nvmlDeviceRegisterEvents", handle, kind, events)
                    found[_address(handle)] = key
            except Fault:
                continue  # the others are still waited for
        return found

    def _next(self, events: Any, keys: Mapping[int | None, str]) -> None:  # noqa: ANN401
        try:
            told = self._binding.call("nvmlEventSetWait_v2", events, _WAIT_MS)
        except Fault as fault:
            if fault.number == TIMEOUT:
                return
            raise
        key = keys.get(_address(told.device))
        if key is not None:
            self._say(Xid(time.monotonic_ns(), key, int(told.eventData)))


def _address(handle: Any) -> int | None:  # noqa: ANN401
    return ctypes.cast(handle, ctypes.c_void_p).value
