"""The lines of gpu.jsonl, and the idle baseline of run.json, as typed values; what does not fit is no record."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""Bytes, nanoseconds and pids: what fits a signed 64-bit number, as the history keeps them."""
Number = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
"""Finite, and sane enough to be calculated with."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
Whole = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31)]
Key = Annotated[str, msgspec.Meta(pattern=r"\A[0-9]{1,4}(:[0-9]{1,4})?\Z")]
Kind = Literal["v2", "v1", "lists"]


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change of a device."""

    gpu: Key
    index: Count
    uuid: str | None
    name: str | None
    total_bytes: Count | None
    reserved_bytes: Count | None
    kind: Kind | None
    unavailable: str | None
    in_run: bool


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process that the driver lists on a device; `start` None: no such process can be seen from here."""

    pid: Count
    start: Count | None
    name: str | None
    user: str | None
    type: Literal["compute", "mps", "graphics"]
    used_bytes: Count | None
    owner: Literal["run", "probably", "before", "other", "unseen"]
    member: str | None


class Baseline(Device, frozen=True, kw_only=True):
    """A device as it was before the first rank started."""

    used_bytes: Count | None


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    """run.json's `gpus`."""

    devices: list[Baseline]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One device in a `gpus` record."""

    used: Count | None
    util: Whole | None
    power: Number | None
    temp: Whole | None
    clocks: Count | None


class _Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="ev"):
    m: Count


class Nvml(_Record, frozen=True, tag="nvml"):
    """Whether NVML could be opened."""

    available: bool
    reason: str | None


class Silent(_Record, frozen=True, tag="silent"):
    """NVML has not answered for so long; 0: it answers again."""

    seconds: Seconds


class Found(Device, frozen=True, kw_only=True, tag_field="ev", tag="device"):
    """A device is there."""

    m: Count


class Absent(_Record, frozen=True, tag="absent"):
    """A field that the device does not tell."""

    gpu: Key
    field: str
    reason: str


class Readings(_Record, frozen=True, tag="gpus"):
    """Of the devices that have news."""

    read: dict[Key, Reading]


class Processes(_Record, frozen=True, tag="processes"):
    """Who is on a device; `reason`: why that could not be read."""

    gpu: Key
    reason: str | None
    entries: list[Process] = msgspec.field(name="list")


class Xid(_Record, frozen=True, tag="xid"):
    """The driver reported a fault."""

    gpu: Key
    xid: Count
    name: str | None
    severity: Literal["job", "gpu", "note"]


class Gone(_Record, frozen=True, tag="lost"):
    """The device does not answer any more."""

    gpu: Key
    reason: str


class Back(_Record, frozen=True, tag="found"):
    """A device that was lost answers again."""

    gpu: Key


class Returned(_Record, frozen=True, tag="returned"):
    """Its memory is back, so long after the end of the run's last process."""

    gpu: Key
    seconds: Seconds
    used_bytes: Count
    baseline_bytes: Count


class NotReturned(_Record, frozen=True, tag="not_returned"):
    """It is not; `final`: and it is waited for no more."""

    gpu: Key
    reason: Literal[
        "held_by_ours", "held_by_other", "held_invisible", "baseline_moved", "residue", "unverifiable", "lost"
    ]
    evidence: str
    final: bool
    seconds: Seconds
    used_bytes: Count | None
    baseline_bytes: Count | None


Record = Nvml | Silent | Found | Absent | Readings | Processes | Xid | Gone | Back | Returned | NotReturned


def parse(record: dict[str, Any]) -> Record | None:
    """None: of a kind that is not known here, or it lacks what its kind needs."""
    try:
        found: Record = msgspec.convert(record, Record)
    except (msgspec.ValidationError, RecursionError):
        return None
    return found


def parse_idle(document: object) -> Idle | None:
    """The idle baseline; None where there is none, or it cannot be read."""
    try:
        found: Idle | None = msgspec.convert(document, Idle | None)
    except (msgspec.ValidationError, RecursionError):
        return None
    return found
