"""How devices reach each other: NVLink, or PCIe over how many bridges, and whether they read each other's memory.

NVML is asked in a thread of its own, as a hung driver keeps whoever calls it.
"""

from __future__ import annotations

import itertools
import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.errors import GpuUnavailable
from grpotui_supervisor.gpu.binding import Fault
from grpotui_supervisor.gpu.nvml import Nvml

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS: Final = 10.0
_READ, _NVLINK = 0, 2
"""nvmlGpuP2PCapsIndex_t; the binding's own constant for the first is a tuple by mistake."""
_MOST_LINKS: Final = 36
_ANCESTORS: Final = {0: "one board", 10: "one PCIe switch", 20: "several PCIe switches", 30: "one PCIe host bridge",
                     40: "one NUMA node", 50: "different NUMA nodes"}  # fmt: skip
"""nvmlGpuTopologyLevel_t: what lies between the two at most."""
_STATES: Final = {0: None, 1: "the chipset does not support it", 2: "this kind of GPU does not support it",
                  3: "the IO hub's topology does not support it", 4: "it is switched off in the driver",
                  5: "it is not supported"}  # fmt: skip
"""nvmlGpuP2PStatus_t; None: it works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two devices; None: the driver does not tell."""

    first: str
    second: str
    between: str | None
    """What lies between them on PCIe."""
    nvlink: bool | None
    """Whether they reach each other over NVLink."""
    peer: bool | None
    """Whether they may read each other's memory directly."""
    why_not: str | None
    """The driver's reason where they may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Of all devices asked for."""

    pairs: tuple[Pair, ...]
    active: dict[str, int | None]
    """NVLink links in use, by device; None: it has none, or does not tell."""


def look(keys: Sequence[str], seconds: float = SECONDS) -> Links:
    """How the devices of these keys reach each other.

    Raises:
        GpuUnavailable: there is no NVML, or it does not answer within that time.
    """
    answers: queue.SimpleQueue[Links | GpuUnavailable] = queue.SimpleQueue()
    threading.Thread(target=_serve, args=(keys, answers), name="nvml-links", daemon=True).start()
    try:
        found = answers.get(timeout=seconds)
    except queue.Empty:
        raise GpuUnavailable(f"NVML did not answer within {seconds:g} s") from None
    if isinstance(found, GpuUnavailable):
        raise found
    return found


def _serve(keys: Sequence[str], answers: queue.SimpleQueue[Links | GpuUnavailable]) -> None:
    try:
        nvml = Nvml()
    except GpuUnavailable as reason:
        answers.put(reason)
        return
    try:
        answers.put(_links(nvml, keys))
    except Fault as fault:
        answers.put(GpuUnavailable(str(fault)))
    nvml.close()


def _links(nvml: Nvml, keys: Sequence[str]) -> Links:
    nvml.handles.places()
    handles = {key: nvml.handles.of(key) for key in keys}
    pairs = tuple(_pair(nvml, (a, handles[a]), (b, handles[b])) for a, b in itertools.combinations(keys, 2))
    return Links(pairs=pairs, active={key: _active(nvml, handle) for key, handle in handles.items()})


def _pair(nvml: Nvml, one: tuple[str, Any], other: tuple[str, Any]) -> Pair:
    ask, call = nvml.binding.or_none, nvml.binding.call
    level = ask(lambda: call("nvmlDeviceGetTopologyCommonAncestor", one[1], other[1]))
    read = ask(lambda: call("nvmlDeviceGetP2PStatus", one[1], other[1], _READ))
    nvlink = ask(lambda: call("nvmlDeviceGetP2PStatus", one[1], other[1], _NVLINK))
    return Pair(
        first=one[0],
        second=other[0],
        between=None if level is None else _ANCESTORS.get(level),
        nvlink=None if nvlink is None else nvlink == 0,
        peer=None if read not in _STATES else read == 0,
        why_not=_STATES.get(read) if read is not None else None,
    )


def _active(nvml: Nvml, handle: Any) -> int | None:  # noqa: ANN401
    states = []
    for link in range(_MOST_LINKS):
        try:
            states.append(nvml.binding.call("nvmlDeviceGetNvLinkState", handle, link))
        except Fault:
            break
    return sum(states) if states else None
