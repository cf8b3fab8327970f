"""Memory that grows from step to step: what each device has in use, and what torch's allocators say of themselves.

Of a device it is the peak in each step, and in each phase of it where phases are told; of torch's counters the most
that the hook, or a label of the log, told in a step. The readings stay apart: an allocator that gives nothing back to
the driver, or a rollout engine with a pool of its own, moves the one without the other.

verl's `perf/max_memory_allocated_gb` and `…_reserved_gb` are left out: they are peaks since the process began, which
verl never resets, so they rise with every new longest answer and never fall. A generation that ends and an update that
begins make a saw-tooth within each step, and no growth of its peaks.

Everything is computed from histories that are on record, so it is the same live and in replay.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from statistics import median_low
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from grpotui_supervisor.model.trend import LONG_WINDOW, Point, latest_growth
from grpotui_supervisor.source.memory import member_of
from grpotui_supervisor.source.step_times import Window, first_windows_of, step_at, windows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui_supervisor.source.phase_times import PhaseTimes
    from grpotui_supervisor.source.source import Source

_MIB: Final = 1 << 20
_LEAST: Final = 256 * _MIB
_SHARE: Final = 0.01
"""Of a device's memory: less than the greater of the two is no growth over a window."""

_PHASE_WINDOW: Final = 120
"""Steps in which phases are looked at."""
_FIRST: Final = 3
"""Steps that the first and the last residues are the median of."""
_EVER: Final = 1 << 62
_RECORDED_LATE_NS: Final = 250_000_000
"""A reading is on record so much later than it was taken."""


class DeviceMemory(NamedTuple):
    """What is on record of one device of the run."""

    gpu: str
    total_bytes: int | None
    reserved_bytes: int | None
    """What the driver keeps for itself; None where `used` has it in it."""
    moments: Sequence[int]
    used: Sequence[int]


_Spans = dict[str, dict[int, list[tuple[int, int]]]]
"""By phase and step: (from, to) in which readings of that phase were taken."""


def growth_fields(source: Source) -> dict[str, Any]:
    """`growth` and `after_sleep` of the status document: what grows, and what updates find of a sleeping engine."""
    windows = windows_of(source.logs, last=LONG_WINDOW + 1)
    told, known = source.phase_times, devices_of(source)
    spans = phase_spans(told, windows[-_PHASE_WINDOW:])
    grown = [found for device in known for found in device_growth(device, windows, spans)]
    first = phase_spans(told, first_windows_of(source.logs, first=_PHASE_WINDOW))
    residues = [residue(device, first.get("update", {}), spans.get("update", {})) for device in known]
    return {
        "growth": [*grown, *_hook_growth(source, windows), *_logged_growth(source)],
        "after_sleep": [found for found in residues if found is not None],
    }


def devices_of(source: Source) -> list[DeviceMemory]:
    """The devices of the run that have readings."""
    return [
        DeviceMemory(device.gpu, device.total_bytes, device.reserved_bytes, history.moments, history.used)
        for device in (seen.device for seen in source.gpus.devices)
        if device.in_run and (history := source.gpus.history.get(device.gpu)) is not None
    ]


def phase_spans(told: PhaseTimes, windows: Sequence[Window]) -> _Spans:
    """The phases of these steps, without the times in which a reading may belong to the phase before or behind."""
    found: _Spans = defaultdict(lambda: defaultdict(list))
    if windows:
        for span in told.spans(windows[0].begin, windows[-1].end):
            step = step_at(windows, (span.begin + span.end) // 2)
            begin, end = span.begin + _RECORDED_LATE_NS, span.end - told.late_ns
            if step is not None and begin < end:
                found[span.phase][step].append((begin, end))
    return found


def phase_peaks(device: DeviceMemory, told: PhaseTimes) -> dict[str, int]:
    """The greatest reading in each phase of the whole run, where phases are told."""
    found: dict[str, int] = {}
    for span in told.spans(0, _EVER):
        begin, end = span.begin + _RECORDED_LATE_NS, span.end - told.late_ns
        used = device.used[bisect_right(device.moments, begin) : bisect_right(device.moments, max(begin, end))]
        if used:
            found[span.phase] = max(*used, found.get(span.phase, 0))
    return found


def device_growth(device: DeviceMemory, windows: Sequence[Window], spans: _Spans) -> Iterator[dict[str, Any]]:
    """What of a device grows: over whole steps, and over each phase."""
    series: dict[str | None, list[Point]] = {None: _peaks_of_steps(device, windows)}
    series |= {phase: _of_phase(device, steps, max) for phase, steps in sorted(spans.items())}
    for phase, points in series.items():
        found = _growth(points, device.total_bytes, "driver", gpu=device.gpu, phase=phase)
        if found is not None:
            room = None if device.total_bytes is None else device.total_bytes - (device.reserved_bytes or 0)
            left = None if room is None else max(0, room - points[-1][1]) / found["slope_bytes_per_step"]
            yield found | {"steps_until_full": None if left is None else int(left)}


def residue(
    device: DeviceMemory, first: Mapping[int, list[tuple[int, int]]], last: Mapping[int, list[tuple[int, int]]]
) -> dict[str, Any] | None:
    """The least that was in use in updates, at the first of them and at the last; None before there are enough.

    Each is the median of three steps; the first update counts for neither, since optimizers make their state in it.
    """
    early = _of_phase(device, first, min)[1 : _FIRST + 1]
    late = _of_phase(device, last, min)[-_FIRST:]
    if len(early) < _FIRST or len(late) < _FIRST or late[0][0] <= early[-1][0]:
        return None
    before, after = (median_low(value for _, value in points) for points in (early, late))
    return {"gpu": device.gpu, "first_bytes": before, "last_bytes": after, "steps": late[-1][0] - early[0][0]}


def _peaks_of_steps(device: DeviceMemory, windows: Sequence[Window]) -> list[Point]:
    """One for each step in which there was a reading; what was in use when it began counts too."""
    found: list[Point] = []
    for step, begin, end in windows:
        low, high = bisect_right(device.moments, begin), bisect_right(device.moments, end)
        if low < high:
            found.append((step, max(device.used[max(0, low - 1) : high])))
    return found


def _of_phase(device: DeviceMemory, steps: Mapping[int, list[tuple[int, int]]], pick: Any) -> list[Point]:  # noqa: ANN401  (max or min)
    """The greatest, or the least, reading of a phase in each step in which there was one."""
    found: list[Point] = []
    for step, spans in sorted(steps.items()):
        used = [
            pick(device.used[low:high])
            for begin, end in spans
            if (low := bisect_right(device.moments, begin)) < (high := bisect_right(device.moments, end))
        ]
        if used:
            found.append((step, pick(used)))
    return found


def _growth(points: Sequence[Point], total: int | None, reading: str, **whose: str | None) -> dict[str, Any] | None:
    found = latest_growth(points, least=max(_LEAST, _SHARE * (total or 0)))
    if found is None:
        return None
    names = ("gpu", "member", "process", "label", "phase")
    return {
        "reading": reading,
        **{name: whose.get(name) for name in names},
        "slope_bytes_per_step": round(found.slope, 1),
        "grown_bytes": round(found.grown),
        "window_steps": found.last - found.first + 1,
        "from_step": found.first,
        "to_step": found.last,
        "steps_until_full": None,
    }


def _hook_growth(source: Source, windows: Sequence[Window]) -> Iterator[dict[str, Any]]:
    """Torch's counters as the hook read them; the room that an allocator has left is not known."""
    for (member, pid, device), history in sorted(source.probes.memory_history.items()):
        for reading, values in (("torch allocated", history.allocated), ("torch reserved", history.reserved)):
            points = _peaks_of_steps(DeviceMemory("", None, None, history.moments, values), windows)
            whose = {"member": member, "process": f"pid {pid}, device {device}"}
            if (found := _growth(points, None, reading, **whose)) is not None:
                yield found


def _logged_growth(source: Source) -> Iterator[dict[str, Any]]:
    """The numbers of the log's memory lines, by label."""
    for label in source.logs.memory.labels:
        series = [one for one in label.series() if one.step is not None]
        begin = max((i for i in range(1, len(series)) if (series[i].step or 0) < (series[i - 1].step or 0)), default=0)
        whose = {"member": member_of(source, label), "process": label.place.process, "label": label.place.label}
        total = label.numbers["device_total_bytes"]
        readings = {
            "torch allocated": [(one.step or 0, one.allocated) for one in series[begin:]],
            "torch reserved": [(one.step or 0, one.reserved) for one in series[begin:]],
            "driver, as logged": [
                (one.step or 0, one.device_used) for one in series[begin:] if one.device_used is not None
            ],
        }
        for reading, points in readings.items():
            if (found := _growth(points[-LONG_WINDOW:], total, reading, **whose)) is not None:
                yield found
