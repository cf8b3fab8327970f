"""A live run is never left without a monitor: whichever client looks at it starts one that is missing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from grpotui_supervisor import supervisors

if TYPE_CHECKING:
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.liveness import View
    from grpotui_supervisor.source.source import Source

_YOUNG_NS = 3_000_000_000
"""So long after its start `launch` may still be starting the monitor itself; it takes 0.3 s on an idle machine."""


def keep_monitored(directory: RunDirectory, source: Source, view: View) -> str | None:
    """Starts a missing monitor; returns what is to be said about it."""
    if source.start_m is None or time.monotonic_ns() - source.start_m < _YOUNG_NS:
        return None
    try:
        started = supervisors.ensure_monitor(directory, source, view)
    except OSError as error:
        return f"the run has no monitor, and none can be started: {error.strerror}"
    return "the run had no monitor; one was started" if started else None
