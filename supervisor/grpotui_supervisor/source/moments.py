"""Moments of a run as people write them."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.follow import Records
from grpotui_supervisor.source.logs import Logs

if TYPE_CHECKING:
    from grpotui_supervisor.rundir import RunDirectory

_OFFSET = re.compile(r"\+(\d+(?:\.\d+)?)s?")
_STEP = re.compile(r"\d{1,15}")


def parse_step(text: str) -> int | None:
    """The number of a step; None for any other moment."""
    return int(text) if _STEP.fullmatch(text.strip()) else None


def parse_moment(text: str, directory: RunDirectory) -> int:
    """Monotonic nanoseconds of a step's first record, of `+SECONDS` after the start, or of a local ISO 8601 date.

    A date is placed by the first record, which has both clocks: a wall clock that jumped later moves nothing.

    Raises:
        UsageError: it is none of them, or the run has no record to count from.
    """
    first = _first(directory)
    if first is None:
        raise UsageError(f"{directory.run_id} has no record: nothing of it was started")
    step, offset = parse_step(text), _OFFSET.fullmatch(text.strip())
    if step is not None:
        return _moment_of_step(step, directory)
    try:
        if offset:
            return int(first["m"]) + round(float(offset[1]) * 1e9)
        wall = dt.datetime.fromisoformat(text.strip()).timestamp()
        return int(first["m"]) + round((wall - float(first.get("t", "nan"))) * 1e9)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--at {text!r} is no moment",
            hint="12 is a step, +12.5 is seconds after the start; else a date: 2026-11-29T17:15:00",
        ) from None


def _first(directory: RunDirectory) -> dict[str, Any] | None:
    """The first record of the processes; of an attached job, which has no shim, it is the monitor's."""
    name = "host.jsonl" if "attached" in directory.facts() else "ranks.jsonl"
    return next(Records(directory.file(name)).until(None), None)


def _moment_of_step(step: int, directory: RunDirectory) -> int:
    """When the log was first seen to hold that step, or a later one where that step was not printed."""
    logs, last = Logs(directory, directory.facts()), None
    logs.probes.update(None)
    for last, moment in zip(logs.probes.columns.steps, logs.probes.row_moments, strict=True):
        if last >= step:
            return moment
    for record in () if last is not None else Records(directory.file("timeline.jsonl")).until(None):
        logs.take(record)
        last = logs.step_of(logs.steps - 1) if logs.steps else None
        if last is not None and last >= step:
            return int(record["m"])
    reached = "no step" if last is None else f"step {last}"
    raise UsageError(f"step {step} is not in the log of {directory.run_id}", hint=f"it goes to {reached}")
