"""nvidia-ml-py, which only this module loads. Opening it raises what a user can read, a call afterwards `Fault`.

Calls block: a hung driver keeps the caller in the kernel.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import os
import re
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import GpuUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

UNINITIALIZED, NOT_SUPPORTED, NO_PERMISSION, INSUFFICIENT_SIZE, DRIVER_NOT_LOADED = 1, 3, 4, 7, 9
TIMEOUT, NO_FUNCTION, MISMATCH, OTHER_VERSION, UNKNOWN = 10, 13, 18, 25, 999
LOST = frozenset({15, 16})
"""GPU is lost, reset required."""
NEVER = frozenset({NOT_SUPPORTED, NO_FUNCTION})
"""The device or the driver has no such thing, and will have none."""

_NAME = "libnvidia-ml.so.1"
_LIBRARIES = (_NAME, f"/usr/lib/wsl/lib/{_NAME}", f"/run/opengl-driver/lib/{_NAME}")
"""WSL and NixOS keep it off the loader's path. Once it is loaded, the binding gets it by its name."""
_KERNEL_MODULE = "/proc/driver/nvidia/version"
_CONTROL = "/dev/nvidiactl"
_HINTS = {
    DRIVER_NOT_LOADED: "load the driver's kernel module: modprobe nvidia",
    MISMATCH: "the driver was updated under the running system: reboot, or unload its kernel modules and load the new",
}


class Fault(Exception):  # noqa: N818  (it never leaves `gpu`)
    """A call that failed: NVML's error number (None: the answer was unusable) and the reason in words."""

    def __init__(self, number: int | None, reason: str) -> None:
        super().__init__(reason)
        self.number = number


class Binding:
    """The open library. Every function is asked for by its name: old bindings and old drivers lack some."""

    def __init__(self) -> None:
        """Opens it.

        Raises:
            GpuUnavailable: there is no driver library, or it does not start, and why.
        """
        self._module = _load()
        self._reopened = False
        try:
            self.call("nvmlInit")
        except Fault as fault:
            raise _unavailable(fault) from fault

    def call(self, name: str, *words: Any, **more: Any) -> Any:  # noqa: ANN401
        """What the binding's function of this name answers.

        Raises:
            Fault: it failed, or there is none.
        """
        module = self._module
        function = getattr(module, name, None)
        if function is None:
            raise Fault(NO_FUNCTION, f"nvidia-ml-py has no {name}")
        try:
            return function(*words, **more)
        except module.NVMLError as error:
            raise Fault(int(error.value), str(error)) from error
        except module.NVMLLibraryMismatchError as error:  # of names without a version, and no NVMLError
            raise Fault(NO_FUNCTION, str(error)) from error
        except UnicodeDecodeError as error:
            raise Fault(None, "the driver's answer is no text") from error

    def text(self, name: str, *words: Any) -> str:  # noqa: ANN401
        """The same for functions that some bindings answer in bytes."""
        found = self.call(name, *words)
        return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)

    def or_none(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401
        """What it answers; None where it fails."""
        try:
            return ask()
        except Fault:
            return None

    def constant(self, name: str) -> int:
        """A constant of the binding."""
        return int(getattr(self._module, name))

    def has(self, name: str) -> bool:
        """Whether the driver's library has such a function."""
        try:
            self.pointer(name)
        except Fault:
            return False
        return True

    def pointer(self, name: str) -> Callable[..., int]:
        """A function of the driver's library itself, where the binding knows other versions only."""
        return self.call("_nvmlGetFunctionPointer", name)  # type: ignore[no-any-return]

    def check(self, returned: int) -> None:
        """Raises the fault that a function of `pointer` returned."""
        if returned:
            self.call("_nvmlCheckReturn", returned)

    def reopen(self) -> bool:
        """Opens it anew, once in its life: another part of the process may have closed it. Handles are void then."""
        if self._reopened:
            return False
        self._reopened = True
        return self.or_none(lambda: (self.call("nvmlInit"), True)) is not None

    def close(self) -> None:
        """Lets the library go. Never while another thread is in a call: the library would fall under its feet."""
        self.or_none(lambda: self.call("nvmlShutdown"))


def _load() -> Any:  # noqa: ANN401  (a module without types)
    _load_library()  # the binding takes 25 ms to import: not where there is no driver
    try:
        module = importlib.import_module("pynvml")
    except ImportError as error:
        raise GpuUnavailable(f"nvidia-ml-py: {error}", hint="pip install nvidia-ml-py", may_pass=False) from error
    if not hasattr(module, "_nvmlGetFunctionPointer"):
        raise GpuUnavailable(
            "the module pynvml is not nvidia-ml-py's",
            hint="pip uninstall pynvml, then pip install --force-reinstall nvidia-ml-py",
            may_pass=False,
        )
    return module


def _load_library() -> None:
    reason = ""
    for name in _LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError as error:
            reason = reason or str(error)
        else:
            return
    raise GpuUnavailable(f"no NVIDIA driver library here: {reason}", may_pass=False)


def _unavailable(fault: Fault) -> GpuUnavailable:
    reason, hint = f"NVML does not start: {fault}", _HINTS.get(fault.number or 0)
    if fault.number == MISMATCH:
        versions = f"kernel module {_module_version() or 'unknown'}, library {_library_version() or 'unknown'}"
        reason = f"NVML does not start: library and kernel module are of different versions ({versions})"
    elif fault.number in (UNKNOWN, NO_PERMISSION):
        refused = _refused()
        reason += f" ({_CONTROL}: {os.strerror(refused)})" if refused is not None else ""
        hint = _hint(refused)
    return GpuUnavailable(reason, hint=hint)


def _hint(refused: int | None) -> str:
    if refused == errno.EPERM:  # permissions of the file give EACCES
        return "a device cgroup forbids it: in a container whose rules were dropped (systemd daemon-reload), restart it"
    if refused == errno.EACCES:
        return f"this user may not open {_CONTROL}"
    return "look for NVRM and Xid in the kernel's log: dmesg"


def _refused() -> int | None:
    """With which errno the driver's control device cannot be opened; None: it can."""
    try:
        os.close(os.open(_CONTROL, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return error.errno
    return None


def _module_version() -> str | None:
    return _found(_KERNEL_MODULE, r"^NVRM version:.*?\s(\d+\.[\d.]+)\s")


def _library_version() -> str | None:
    """Of the file that is mapped: the one that its name pointed to when it was loaded."""
    return _found("/proc/self/maps", r"/libnvidia-ml\.so\.(\d+\.[\d.]+)$")


def _found(path: str, pattern: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(pattern, file.read(), re.MULTILINE)
    except OSError:
        return None
    return found[1] if found else None
