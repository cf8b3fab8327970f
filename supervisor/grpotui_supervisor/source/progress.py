"""How far a run is, how fast, and until when: from the moments at which its records came.

Pure. A step is timed by the moments of two records of which the later one has a higher step, so a run that starts again
and records that came in one block are timed rightly; the median of the last ones bears a validation, a checkpoint and a
pause in between. Nothing is told before three steps are timed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_STEPS = 3
"""Fewer timed steps tell nothing yet: the first one warms up."""
WINDOW = 20
"""Timed intervals that count, the newest."""
_LOOK_BACK = 2000
"""Rows that are looked at."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Seconds a step, and what they were measured by."""

    seconds: float
    told_by: Literal["record times", "printed"]


def observed_rate(steps: Sequence[int], moments: Sequence[int]) -> Rate | None:
    """The median time of a step.

    Args:
        steps: of each record, in their order; negative where the log does not tell it.
        moments: when the log grew by each, in monotonic nanoseconds; negative where that is not known.
    """
    found: list[tuple[float, int]] = []
    before: tuple[int, int] | None = None
    for step, moment in _ends_of_blocks(steps[-_LOOK_BACK:], moments[-_LOOK_BACK:]):
        if before is not None and step > before[0]:
            found.append(((moment - before[1]) / 1e9 / (step - before[0]), step - before[0]))
        before = step, moment
    found = found[-WINDOW:]
    if sum(count for _, count in found) < LEAST_STEPS:
        return None
    return Rate(_weighted_median(found), "record times")


def printed_rate(seconds: Sequence[float]) -> Rate | None:
    """The median of the step times that the log itself prints (`time/step`, in seconds)."""
    known = [value for value in seconds[-WINDOW:] if math.isfinite(value) and value > 0]
    return None if len(known) < LEAST_STEPS else Rate(_weighted_median([(value, 1) for value in known]), "printed")


def seconds_left(step: int | None, total: int | None, rate: Rate | None, *, since_step_s: float | None) -> float | None:
    """Until the last step is done at that rate, less what the present step has taken already, at most all of it."""
    if step is None or total is None or rate is None or step > total:
        return None
    under_way = min(since_step_s or 0.0, rate.seconds) if step < total else 0.0
    return (total - step) * rate.seconds - under_way


def _ends_of_blocks(steps: Sequence[int], moments: Sequence[int]) -> list[tuple[int, int]]:
    """The last step of those that came at one moment, with that moment."""
    ends: list[tuple[int, int]] = []
    for step, moment in zip(steps, moments, strict=False):
        if step < 0 or moment < 0:
            continue
        if ends and ends[-1][1] == moment:
            ends.pop()
        ends.append((step, moment))
    return ends


def _weighted_median(values: Sequence[tuple[float, int]]) -> float:
    ordered, half = sorted(values), sum(count for _, count in values) / 2
    for value, count in ordered:
        half -= count
        if half <= 0:
            return value
    return ordered[-1][0]
