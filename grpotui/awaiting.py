"""Waiting, at the end of a run, for the monitor's word on whether the memory of its devices is back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from grpotui.gpu_words import names
from grpotui_supervisor.source.liveness import look

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui_supervisor.source.source import Source

_SAID_AFTER_S = 10.0
_MOST_S = 150.0
"""The monitor gives its last word at most 120 s after the end; what it has not said by then does not come."""
_ABSENT_S = 0.5
"""A monitor that is just starting does not hold its lock yet."""


def await_return(source: Source, *, pause: Callable[[], bool], say: Callable[[str], object]) -> bool:
    """Returns once every device of the run has its final word, or no monitor is left to give it.

    `pause` waits a little, brings the source to now, shows what is new, and returns whether Ctrl-C was pressed, which
    ends the waiting; False then. Nothing else changes the source.
    """
    began = seen = time.monotonic()
    said = False
    while awaited := source.gpus.awaited(source.ends):
        now = time.monotonic()
        if look(source.directory, source.facts).monitor_alive:
            seen = now
        if now - seen > _ABSENT_S or now - began > _MOST_S:
            return True
        if not said and now - began > _SAID_AFTER_S:
            said = True
            say(f"waiting for the memory of {names(awaited)} to come back; Ctrl-C ends the waiting")
        if pause():
            return False
    return True
