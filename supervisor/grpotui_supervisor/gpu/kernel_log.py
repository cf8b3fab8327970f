"""Faults of devices (Xid) that the driver has written into the kernel's log since boot, where that may be read."""

from __future__ import annotations

import os
import re
from typing import Final

_LOG: Final = "/dev/kmsg"
_RECORD: Final = 8192
_MOST: Final = 100_000
"""Records; the kernel's buffer holds some thousands."""
_XID: Final = re.compile(rb"NVRM: Xid \(PCI:([0-9A-Fa-f:.]{4,24})\): (\d{1,4})")


def xids(path: str = _LOG) -> dict[str, tuple[int, ...]] | str:
    """Numbers by PCI address as `0000:18:00`, each once in the order they came; or why the log cannot be read."""
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return f"{path}: {error.strerror}"
    found: dict[str, dict[int, None]] = {}
    try:
        for _ in range(_MOST):
            record = _next(log)
            if not record:
                break
            for address, number in _XID.findall(record):
                found.setdefault(bus(address.decode()), {})[int(number)] = None
    finally:
        os.close(log)
    return {address: tuple(numbers) for address, numbers in found.items()}


def _next(log: int) -> bytes:
    """The next record; empty at the end. One that was overwritten meanwhile is passed over."""
    while True:
        try:
            return os.read(log, _RECORD)
        except BrokenPipeError:
            continue
        except OSError:
            return b""


def bus(address: str) -> str:
    """A PCI address as both NVML (`00000000:18:00.0`) and the driver's messages have it: domain, bus and device."""
    parts = address.lower().partition(".")[0].split(":")
    return ":".join([parts[-3][-4:].rjust(4, "0") if len(parts) > 2 else "0000", *parts[-2:]])
