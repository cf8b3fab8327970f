"""What the driver's fault numbers (Xid) mean. Names as in the open kernel module's nverror.h, in plain words."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Severity = Literal["job", "gpu", "note"]
"""job: look at the program first. gpu: the device, its links or its driver. note: follows a kill, and is no fault."""


class XidKind(NamedTuple):
    """A kind of fault."""

    name: str | None
    """None: a number that we have no name for."""
    severity: Severity


XIDS: Mapping[int, XidKind] = MappingProxyType(
    {
        13: XidKind("graphics engine exception", "job"),
        31: XidKind("memory page fault", "job"),
        43: XidKind("channel reset", "job"),
        45: XidKind("preemptive channel removal", "note"),
        48: XidKind("double-bit ECC error", "gpu"),
        61: XidKind("PMU breakpoint", "gpu"),
        62: XidKind("PMU halted", "gpu"),
        63: XidKind("row remapping or page retirement recorded", "gpu"),
        64: XidKind("row remapping or page retirement failed", "gpu"),
        74: XidKind("NVLink error", "gpu"),
        79: XidKind("fallen off the bus", "gpu"),
        92: XidKind("many single-bit ECC errors", "gpu"),
        94: XidKind("contained memory error", "gpu"),
        95: XidKind("uncontained memory error", "gpu"),
        119: XidKind("GSP does not answer", "gpu"),
        120: XidKind("GSP error", "gpu"),
        137: XidKind("NVLink privilege error", "gpu"),
        140: XidKind("unrecovered ECC error", "gpu"),
        143: XidKind("device initialization failed", "gpu"),
        144: XidKind("NVLink error (SAW)", "gpu"),
        145: XidKind("NVLink error (RLW)", "gpu"),
        149: XidKind("NVLink error (NETIR)", "gpu"),
        154: XidKind("recovery action changed", "gpu"),
        155: XidKind("NVLink software error", "gpu"),
    }
)
_OTHER = XidKind(None, "gpu")


def xid_kind(number: int) -> XidKind:
    """What a number means; one that is not known is the device's matter, since the driver reports it as critical."""
    return XIDS.get(number, _OTHER)
