"""Where in a run a moment was."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from grpotui_supervisor.source.metrics import Metrics


class Place(NamedTuple):
    """What a line of a log belongs to."""

    step: int | None
    """None: not known, or before the first."""
    offset_s: float | None
    """Seconds since the run's start; None for a bare log."""
    is_done: bool
    """Whether that step was on record by then, or later; else it is the last one before."""


def place_in(metrics: Metrics, moment: int, start_m: int | None) -> Place:
    """What is printed before a step's record belongs to that step."""
    offset = None if start_m is None else (moment - start_m) / 1e9
    rows = len(metrics.moments)
    if not rows:
        return Place(None, offset, is_done=False)
    row = bisect_left(metrics.moments, moment)
    return Place(metrics.step_of(min(row, rows - 1)), offset, is_done=row < rows)
