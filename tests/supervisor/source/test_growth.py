"""Growth over steps and phases, with arrays made by hand: leaks in one phase, saw-teeth, residues, what is left out."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from grpotui_supervisor.source.growth import DeviceMemory, device_growth, phase_peaks, phase_spans, residue
from grpotui_supervisor.source.phase_times import PhaseTimes
from grpotui_supervisor.source.step_times import Window, step_at, step_windows

if TYPE_CHECKING:
    from collections.abc import Callable

S = 1_000_000_000
GIB = 1 << 30
STEP_S = 40
"""Generation for 20 s, then an update."""


def windows(steps: int) -> list[Window]:
    return [Window(n, (n - 1) * STEP_S * S, n * STEP_S * S) for n in range(2, steps + 1)]


def told(steps: int, *, late_ns: int = S) -> PhaseTimes:
    found = PhaseTimes(late_ns=late_ns)
    for n in range(1, steps + 1):
        found.put((n - 1) * STEP_S * S, "generate")
        found.put(((n - 1) * STEP_S + 20) * S, "update")
    return found


def device(steps: int, used: Callable[[int, str], float], *, reserved: int | None = GIB) -> DeviceMemory:
    """A reading each second; one just behind a change still shows what was before."""
    moments, values = array("q"), array("q")
    for second in range(steps * STEP_S):
        moments.append(second * S + S // 10)
        at = max(0, second - (second % 20 == 0))
        values.append(round(used(at // STEP_S + 1, "update" if at % STEP_S >= 20 else "generate") * GIB))
    return DeviceMemory("0", 140 * GIB, reserved, moments, values)


def grown(steps: int, used: Callable[[int, str], float]) -> dict[str | None, dict[str, Any]]:
    spans = phase_spans(told(steps), windows(steps))
    return {found["phase"]: found for found in device_growth(device(steps, used), windows(steps), spans)}


def test_the_peak_of_each_phase_over_the_whole_run() -> None:
    """Also of the first step; a reading at a change, which may be of the phase before, counts for neither."""

    def used(step: int, phase: str) -> float:
        return (130 if step == 1 else 100 + step) if phase == "generate" else 40 + step

    found = phase_peaks(device(6, used), told(6))
    assert found == {"generate": 130 * GIB, "update": 45 * GIB}  # the last update has not ended on record
    assert phase_peaks(device(6, used), PhaseTimes(late_ns=S)) == {}
    falling = phase_peaks(device(6, lambda step, _: 100 - step), told(6))
    assert falling == {"generate": 99 * GIB, "update": 99 * GIB}


def test_a_saw_tooth_of_generation_and_update_does_not_grow() -> None:
    assert grown(30, lambda _, phase: 120 if phase == "generate" else 40) == {}


def test_a_leak_in_updates_alone() -> None:
    found = grown(30, lambda step, phase: 100 if phase == "generate" else 20 + step)
    assert set(found) == {"update"}
    assert found["update"]["slope_bytes_per_step"] == GIB
    assert (found["update"]["gpu"], found["update"]["reading"]) == ("0", "driver")
    assert found["update"]["steps_until_full"] == 139 - 49  # the last update of 30 has not ended on record
    assert found["update"]["to_step"] == 29


def test_a_leak_everywhere_is_seen_over_whole_steps_too() -> None:
    found = grown(12, lambda step, phase: (60 if phase == "generate" else 20) + 2 * step)
    assert set(found) == {None, "generate", "update"}
    whole = found[None]
    assert (whole["from_step"], whole["to_step"], whole["window_steps"]) == (2, 12, 11)
    assert whole["steps_until_full"] == (139 - 84) // 2


def test_less_than_a_hundredth_of_the_device_is_no_growth() -> None:
    assert grown(24, lambda step, _: 50 + 0.05 * step) == {}
    assert set(grown(24, lambda step, _: 50 + 0.08 * step)) >= {None}


def test_too_few_steps_tell_nothing() -> None:
    assert grown(8, lambda step, _: 10.0 * step) == {}
    assert None in grown(9, lambda step, _: 10.0 * step)


def test_the_room_that_is_left_may_be_unknown() -> None:
    moments, used = device(20, lambda step, _: step)[3:]
    (found,) = device_growth(DeviceMemory("1", None, None, moments, used), windows(20), {})
    assert found["steps_until_full"] is None


def test_steps_without_a_reading_are_passed_over() -> None:
    """0.5 s a step, a reading every 4 s: only steps with one count."""
    quick = [Window(n, n * S // 2 - S // 2, n * S // 2) for n in range(1, 400)]
    moments = array("q", range(S // 4, 199 * S, 4 * S))
    used = array("q", [GIB * n for n in range(len(moments))])
    (found,) = device_growth(DeviceMemory("0", 1000 * GIB, 0, moments, used), quick, {})
    assert found["slope_bytes_per_step"] == pytest.approx(GIB / 8)


def test_what_a_sleeping_engine_leaves() -> None:
    steps = 30
    spans = phase_spans(told(steps), windows(steps))["update"]
    used = device(steps, lambda step, phase: 100 if phase == "generate" else 30 + step * 0.25)
    found = residue(used, spans, spans)
    assert found == {"gpu": "0", "first_bytes": 31 * GIB, "last_bytes": 37 * GIB, "steps": 29 - 3}
    few = phase_spans(told(7), windows(7))["update"]
    assert residue(used, few, few) is None
    assert residue(used, {}, {}) is None


def test_nobody_tells_phases() -> None:
    assert phase_spans(PhaseTimes(late_ns=0), windows(9)) == {}
    assert phase_spans(told(3), []) == {}


def test_phase_times_keep_their_order() -> None:
    times = PhaseTimes(late_ns=0)
    for m, name in ((5, "a"), (7, "a"), (3, "b"), (9, None), (11, "c"), (14, "d")):
        times.put(m, name)
    assert [*times.spans(0, 100)] == [("a", 5, 9), ("c", 11, 14)]
    assert [*times.spans(6, 12)] == [("c", 11, 14)]


def test_windows_of_steps() -> None:
    assert step_windows([1, 2, 2, 3], [10, 20, 25, 30]) == [(2, 10, 20), (3, 20, 30)]
    assert step_windows([1, -1, 2], [10, 15, 20]) == [(2, 10, 20)]
    assert step_windows([1, 2, 3, 4], [10, 20, 20, 30]) == [(3, 10, 20), (4, 20, 30)]  # two records in one block
    assert step_windows([5, 6, 2, 3], [10, 20, 30, 40]) == [(3, 30, 40)]  # it began again
    assert step_windows([1, 2], [-1, 20]) == []
    found = step_windows(range(1, 9), range(0, 80, 10))
    assert all(one.end == other.begin for one, other in pairwise(found))
    assert [step_at(found, m) for m in (0, 1, 10, 11, 70, 71)] == [None, 2, 2, 3, 8, None]
