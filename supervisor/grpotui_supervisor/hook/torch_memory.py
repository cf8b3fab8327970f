"""The counters of torch's allocator, as they are; CUDA is never initialised here."""

from __future__ import annotations

import sys
import time

from .record import WANTED, guarded, record

_PERIOD_NS = 250_000_000
_COUNTERS = {
    "allocated_bytes": "allocated_bytes.all.current",
    "reserved_bytes": "reserved_bytes.all.current",
    "max_allocated_bytes": "allocated_bytes.all.peak",
    "max_reserved_bytes": "reserved_bytes.all.peak",
}
_looked = [0]


@guarded
def look_at_memory() -> None:
    """Records them for each device in use, at most four times a second."""
    now = time.monotonic_ns()
    if "torch_memory" not in WANTED or now - _looked[0] < _PERIOD_NS:
        return
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return
    _looked[0] = now
    for device in range(cuda.device_count()):
        found = cuda.memory_stats(device)
        if found.get(_COUNTERS["max_reserved_bytes"]):
            record.write("torch_memory", {"device": device, **{key: found[name] for key, name in _COUNTERS.items()}})
