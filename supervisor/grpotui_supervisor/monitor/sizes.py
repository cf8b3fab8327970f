"""Sizes of the members' logs over time: what gives a line of a log its time, live and in replay alike."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from grpotui_supervisor.rundir import VERL_METRICS

if TYPE_CHECKING:
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.shim.journal import Journal

STREAMS = (VERL_METRICS, "stdout.log", "stderr.log")
"""The exact numbers of a step come before the rounded ones of the console."""
_BURST = 4
_EVERY_S = 0.25
"""Four records of a file at once, then one each quarter of a second: a step is on record as soon as it is written, also
when a progress bar moved just before it, and a log that never rests takes no more than 4 Hz."""


class Sizes:
    """Looks at every log of the run, and records each size that has changed."""

    def __init__(self, directory: RunDirectory, timeline: Journal, *, known: dict[str, int]) -> None:
        self._folder = directory.file("ranks")
        self._timeline = timeline
        self._known = known
        self._full_at: dict[str, float] = {}
        """When a file may have a burst again, by the monotonic clock."""
        self.due_s: float | None = None
        """In how many seconds, from the last look on, a growth that is not on record yet may be; None: all is."""

    def look(self, *, last: bool = False) -> None:
        """Records what has grown since the last look, as far as its rate allows; `last`: all of it."""
        now, self.due_s = time.monotonic(), None
        for path in self.paths():
            name = path[len(self._folder) + 1 :]
            try:
                size = os.stat(path).st_size
            except OSError:
                continue
            if size == self._known.get(name, 0):
                continue
            wait = self._full_at.get(name, now) - (_BURST - 1) * _EVERY_S - now
            if wait > 0 and not last:
                self.due_s = wait if self.due_s is None else min(wait, self.due_s)
                continue
            self._full_at[name] = max(self._full_at.get(name, now), now) + _EVERY_S
            self._known[name] = size
            self._timeline.add("size", file=name, size=size)

    def paths(self) -> list[str]:
        """Every log that a member has or may have."""
        return [f"{self._folder}/{member}/{stream}" for member in sorted(self._members()) for stream in STREAMS]

    def _members(self) -> list[str]:
        try:
            return os.listdir(self._folder)
        except OSError:
            return []
