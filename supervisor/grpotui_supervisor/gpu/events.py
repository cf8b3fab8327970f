"""What the sampler tells. Moments are monotonic ns, taken at the begin of a look: nothing in it is older."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.model.gpu import Device, ProcessList, Reading


@dataclass(frozen=True, slots=True)
class Opened:
    """NVML answers."""

    driver: str | None
    cuda: str | None
    """The newest CUDA that the driver serves, such as `13.0`."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No GPU can be read, and why. Said once, however often it is tried again."""

    reason: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """All devices by index, MIG instances behind their parent. Said again when what is known of them has changed."""

    devices: tuple[Device, ...]


@dataclass(frozen=True, slots=True)
class Readings:
    """One look at every device."""

    m: int
    read: Mapping[str, Reading]


@dataclass(frozen=True, slots=True)
class Lists:
    """One look at every device's processes."""

    m: int
    lists: Mapping[str, ProcessList]


@dataclass(frozen=True, slots=True)
class Xid:
    """The driver has reported a fault of a device; `model.xids` names the number. `m`: when we were told."""

    m: int
    key: str
    number: int


@dataclass(frozen=True, slots=True)
class Slow:
    """A look took so long that it is made less often from now; also said when it is made more often again."""

    tick_ms: float
    interval_s: float


Event = Opened | Unavailable | Found | Readings | Lists | Xid | Slow
