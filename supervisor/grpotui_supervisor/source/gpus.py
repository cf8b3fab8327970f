"""The GPUs of a run, as recorded: a fold over gpu.jsonl, on top of the idle baseline of run.json."""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.source import gpu_records as records
from grpotui_supervisor.source.gpu_records import Key, NotReturned, Returned

if TYPE_CHECKING:
    from collections.abc import Mapping


_XIDS = 20
"""Faults that are kept of each device: a broken one reports the same for ever."""
_EVENTS = 1000
_SILENT_AGAIN_NS = 60_000_000_000
"""A silence is recorded again so often: when it was not, nobody has asked since."""


@dataclass(slots=True)
class History:
    """The readings of a device's memory, one entry each."""

    moments: array[int] = field(default_factory=lambda: array("q"))
    """Monotonic nanoseconds."""
    used: array[int] = field(default_factory=lambda: array("q"))
    """Bytes, of the device's own kind of reading."""


@dataclass(frozen=True, slots=True)
class Ends:
    """How far the processes of a run have ended."""

    is_alive: bool
    """Whether anything of it is, leftovers included, as recorded.

    Of a run whose shim has gone the ends of leftovers are on no record: there the monitor's word, which it gives once
    it has found none alive, is all there is.
    """
    last_m: int | None
    """Moment of the last end."""


@dataclass(slots=True)
class Seen:
    """What is on record of one device."""

    device: records.Device
    baseline: records.Baseline | None = None
    reading: records.Reading | None = None
    reading_m: int | None = None
    processes: records.Processes | None = None
    absent: dict[str, str] = field(default_factory=dict)
    lost: str | None = None
    xids: deque[records.Xid] = field(default_factory=lambda: deque(maxlen=_XIDS))
    listed: set[int] = field(default_factory=set)
    """Pids of the run that were ever listed on it."""
    said: Returned | NotReturned | None = None
    """Whether its memory is back, as last recorded."""

    def word(self, ends: Ends) -> Returned | NotReturned | None:
        """Whether its memory is back, as far as that still holds.

        Never back while anything of the run is alive, since an orphan may still take its share; and once nothing is
        alive, what was said against it before the last end counts no more.
        """
        said = self.said
        if said is None or (ends.is_alive and isinstance(said, Returned)):
            return None
        return None if not ends.is_alive and ends.last_m is not None and said.m < ends.last_m else said

    @property
    def baseline_bytes(self) -> int | None:
        """Used before the first rank started; None where that was read in another way than now."""
        known = self.baseline
        return known.used_bytes if known is not None and known.kind == self.device.kind else None

    @property
    def unattributed_bytes(self) -> int | None:
        """Used beyond what the listed processes hold; None unless both are known. Below 0: they were read apart."""
        held, used = self.listed_bytes, self.reading.used if self.reading else None
        return None if held is None or used is None else used - held

    @property
    def listed_bytes(self) -> int | None:
        """Sum over the listed processes; None where the list, or one of its numbers, is not known."""
        if self.processes is None or self.processes.reason is not None:
            return None
        held = [process.used_bytes for process in self.processes.entries]
        return sum(one for one in held if one is not None) if None not in held else None


Event = records.Xid | records.Gone | records.Back | records.Nvml | records.Silent


class Gpus:
    """The fold; a line that lacks what its kind needs, or names a device that is not known, changes nothing.

    Attributes:
        history: by the key of a device.
        events: what happened in the middle of the run, the last ones.
        events_count: how many there were.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        idle = records.parse_idle(facts.get("gpus"))
        self._facts = facts
        self._known = {one.gpu: Seen(one, baseline=one) for one in idle.devices} if idle is not None else {}
        self._has_baseline = idle is not None
        self.history: dict[str, History] = {}
        self.events: deque[Event] = deque(maxlen=_EVENTS)
        self.events_count = 0
        self._nvml: records.Nvml | None = None
        self._silent: records.Silent | None = None

    def take(self, record: dict[str, Any]) -> None:
        """One more line of gpu.jsonl."""
        found = records.parse(record)
        if found is None:
            return
        match found:
            case records.Nvml():
                self._take_nvml(found)
            case records.Silent():
                self._take_silence(found)
            case records.Found():
                self._take_device(found)
            case records.Readings():
                self._take_readings(found)
            case _:
                seen = self._known.get(found.gpu)
                if seen is not None:
                    self._take_of(seen, found)

    @property
    def devices(self) -> list[Seen]:
        """By index."""
        return sorted(self._known.values(), key=lambda seen: _place(seen.device.gpu))

    @property
    def unavailable(self) -> str | None:
        """Why no GPU is known at all; None: one is."""
        if self._known:
            return None
        if self._nvml is not None:
            return self.nvml_unavailable or "no device is on record"
        reason = self._facts.get("gpu_unavailable")
        return reason if isinstance(reason, str) else "no device is on record"

    @property
    def nvml_unavailable(self) -> str | None:
        """Why NVML cannot be asked, as of the last attempt."""
        if self._nvml is None or self._nvml.available:
            return None
        return self._nvml.reason or "NVML could not be opened"

    def silent_s(self, now: int | None) -> float | None:
        """For how long NVML has not answered; None: it does."""
        if self._silent is None:
            return None
        since = 0 if now is None else min(max(0, now - self._silent.m), _SILENT_AGAIN_NS)
        return self._silent.seconds + since / 1e9

    def awaited(self, ends: Ends) -> list[str]:
        """Devices of the run of which it is still to be said whether their memory is back; none without a baseline."""
        if not self._has_baseline:
            return []
        return [seen.device.gpu for seen in self.devices if seen.device.in_run and not _is_final(seen.word(ends))]

    def held_by(self, pid: int, start: int) -> dict[str, int | None]:
        """Bytes of this process on each device that lists it; None: the driver does not tell."""
        found: dict[str, int | None] = {}
        for seen in self.devices:
            for process in seen.processes.entries if seen.processes else ():
                if (process.pid, process.start) == (pid, start):
                    found[seen.device.gpu] = process.used_bytes
        return found

    def held_by_member(self, member: str) -> dict[str, int | None]:
        """Bytes of a member's processes on each device that lists one; None: of at least one it is not told."""
        found: dict[str, int | None] = {}
        for seen in self.devices:
            used = [
                one.used_bytes for one in (seen.processes.entries if seen.processes else ()) if one.member == member
            ]
            if used:
                told = [count for count in used if count is not None]
                found[seen.device.gpu] = sum(told) if len(told) == len(used) else None
        return found

    def _take_nvml(self, found: records.Nvml) -> None:
        before, self._nvml = self.nvml_unavailable, found
        self._answered(found.m)
        if self._known and self.nvml_unavailable != before:
            self._note(found)

    def _take_silence(self, found: records.Silent) -> None:
        if not found.seconds:
            self._answered(found.m)
            return
        if self._silent is None:
            self._note(found)
        self._silent = found

    def _answered(self, moment: int) -> None:
        """A reading tells that too: a monitor that died in a silence takes none of it back."""
        if self._silent is not None:
            self._silent = None
            self._note(records.Silent(m=moment, seconds=0))

    def _take_device(self, found: records.Found) -> None:
        seen = self._known.get(found.gpu)
        if seen is None:
            self._known[found.gpu] = Seen(found)
            return
        if seen.baseline is not None and None not in (pair := {seen.baseline.uuid, found.uuid}) and len(pair) > 1:
            seen.baseline = None  # the key names another device now
        seen.device = found

    def _take_readings(self, found: records.Readings) -> None:
        self._answered(found.m)
        for key, reading in found.read.items():
            seen = self._known.get(key)
            if seen is None:
                continue
            seen.reading, seen.reading_m = reading, found.m
            if reading.used is not None:
                history = self.history.setdefault(key, History())
                history.moments.append(found.m)
                history.used.append(reading.used)

    def _take_of(self, seen: Seen, found: _OfDevice) -> None:
        match found:
            case records.Absent():
                seen.absent[found.field] = found.reason
            case records.Processes():
                seen.processes = found
                seen.listed.update(one.pid for one in found.entries if one.owner == "run")
            case records.Xid():
                seen.xids.append(found)
                self._note(found)
            case records.Gone():
                seen.lost = found.reason
                self._note(found)
            case records.Back():
                seen.lost = None
                self._note(found)
            case Returned() | NotReturned():
                seen.said = found

    def _note(self, event: Event) -> None:
        self.events.append(event)
        self.events_count += 1


_OfDevice = records.Absent | records.Processes | records.Xid | records.Gone | records.Back | Returned | NotReturned


def _is_final(word: Returned | NotReturned | None) -> bool:
    return isinstance(word, Returned) or (word is not None and word.final)


def _place(key: Key) -> tuple[int, ...]:
    """`10` after `9`, and `0:1` between `0` and `1`."""
    return tuple(int(part) for part in key.split(":"))
