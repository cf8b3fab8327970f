"""Moments of a run as people write them."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.follow import Records

if TYPE_CHECKING:
    from grpotui_supervisor.rundir import RunDirectory

_OFFSET = re.compile(r"\+(\d+(?:\.\d+)?)s?")


def parse_moment(text: str, directory: RunDirectory) -> int:
    """Monotonic nanoseconds of `+SECONDS` after the start, or of a local date and time in ISO 8601.

    A date is placed by the first record, which has both clocks: a wall clock that jumped later moves nothing.

    Raises:
        UsageError: it is neither, or the run has no record to count from.
    """
    first = next(Records(directory.file("ranks.jsonl")).until(None), None)
    if first is None:
        raise UsageError(f"{directory.run_id} has no record: nothing of it was started")
    offset = _OFFSET.fullmatch(text.strip())
    try:
        if offset:
            return int(first["m"]) + round(float(offset[1]) * 1e9)
        wall = dt.datetime.fromisoformat(text.strip()).timestamp()
        return int(first["m"]) + round((wall - float(first.get("t", "nan"))) * 1e9)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--at {text!r} is no moment", hint="+12.5 is seconds after the start; else a date: 2026-11-29T17:15:00"
        ) from None
