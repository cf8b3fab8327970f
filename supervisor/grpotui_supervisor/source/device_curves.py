"""The memory of each device over time, as curves beside each other: the driver's reading, and torch's two.

The readings stay apart: they are taken at different moments by different programs, and none contains another.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from grpotui_supervisor.source.curves import Curve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui_supervisor.source.source import Source

Reading = Literal["driver", "torch allocated", "torch reserved"]
READINGS: Final[tuple[Reading, ...]] = get_args(Reading)

_GIB: Final = 1 << 30


class PhaseSpan(NamedTuple):
    """A phase, in seconds since the run's start."""

    phase: str
    begin: float
    end: float


class DeviceCurves:
    """Of a source, as of its last update; `x` is in seconds since the run's start, values are in GiB."""

    def __init__(self, source: Source, *, after: DeviceCurves | None = None) -> None:
        """`after`: those whose place these take, so that no version of theirs is taken for one of these."""
        self._source = source
        self._generation: int = 1 if after is None else after._generation + 1  # noqa: SLF001  (its own kind)
        self._processes: dict[str, tuple[str, int, int]] = {}
        self._changes = 0

    def curve(self, gpu: str, reading: Reading, begin: int = 0, version: int = 0) -> Curve:
        """What of a reading of a device is new since `version`, from `begin` on."""
        moments, values = self._history(gpu, reading)
        start, now = self._source.start_m or 0, self._version
        begin = begin if version == now else 0
        x = array("d", ((moment - start) / 1e9 for moment in moments[begin:]))
        return Curve(now, begin, x, array("d", (value / _GIB for value in values[begin:])), more=False)

    def phases(self, begin: float, end: float, most: int) -> list[PhaseSpan] | None:
        """The phases between two times, the last one until `end`; None: they are more than `most`."""
        start = self._source.start_m or 0
        found = self._source.phase_times.around(start + round(begin * 1e9), start + round(end * 1e9), most)
        if found is None:
            return None
        return [PhaseSpan(phase, (since - start) / 1e9, (until - start) / 1e9) for phase, since, until in found]

    @property
    def _version(self) -> int:
        return self._generation * 1_000_000 + self._changes

    def _history(self, gpu: str, reading: Reading) -> tuple[Sequence[int], Sequence[int]]:
        if reading == "driver":
            seen = self._source.gpus.history.get(gpu)
            return ((), ()) if seen is None else (seen.moments, seen.used)
        process = self._process(gpu)
        if process is None:
            return (), ()
        history = self._source.probes.memory_history[process]
        return history.moments, history.allocated if reading == "torch allocated" else history.reserved

    def _process(self, gpu: str) -> tuple[str, int, int] | None:
        """The only process of the run that was ever listed on the device and told of torch's memory.

        torch numbers the devices that a process sees, the driver those of the machine: only a process with one device
        tells which it means. Of several processes on one device, each knows its own part only.
        """
        pids = next((seen.listed for seen in self._source.gpus.devices if seen.device.gpu == gpu), set())
        told = [key for key in self._source.probes.memory_history if key[1] in pids]
        found = told[0] if len(told) == 1 else None
        if found != self._processes.get(gpu):
            self._changes += 1
            self._processes.pop(gpu, None)
            if found is not None:
                self._processes[gpu] = found
        return found
