"""Sizes of the members' logs over time: what gives a line of a log its time, live and in replay alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grpotui_supervisor.rundir import VERL_METRICS

if TYPE_CHECKING:
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.shim.journal import Journal

STREAMS = (VERL_METRICS, "stdout.log", "stderr.log")
"""The exact numbers of a step come before the rounded ones of the console."""


class Sizes:
    """Looks at every log of the run, and records each size that has changed."""

    def __init__(self, directory: RunDirectory, timeline: Journal, *, known: dict[str, int]) -> None:
        self._folder = directory.file("ranks")
        self._timeline = timeline
        self._known = known

    def look(self) -> bool:
        """Records what has grown since the last look; returns whether anything had."""
        changed = False
        for member in sorted(self._members()):
            for stream in STREAMS:
                name = f"{member}/{stream}"
                try:
                    size = os.stat(f"{self._folder}/{name}").st_size
                except OSError:
                    continue
                if size != self._known.get(name, 0):
                    self._known[name] = size
                    self._timeline.add("size", file=name, size=size)
                    changed = True
        return changed

    def _members(self) -> list[str]:
        try:
            return os.listdir(self._folder)
        except OSError:
            return []
