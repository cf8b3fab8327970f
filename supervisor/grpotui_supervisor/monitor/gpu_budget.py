"""How much gpu.jsonl may grow: 25 MB a day with 8 devices, whatever they do. What matters least is left out first."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grpotui_supervisor.shim.journal import Journal

_RATE = 262.0
"""Bytes a second: 22.6 MB a day."""
_FULL = 1_000_000
_FRAME = 80
"""Bytes of a line beside its own fields: event, times, number."""
_SECOND = 1_000_000_000


class Matters(IntEnum):
    """How much a value matters: what must be left in the budget, in bytes, for it to be written."""

    LITTLE = 700_000
    """Utilisation, power, temperature."""
    SOME = 600_000
    """Memory that moved by less than a hundredth; the bytes of a process."""
    MUCH = 500_000
    """Memory that moved by more, a process that came or left, trouble with the clocks."""
    AT_A_DEATH = 250_000
    """Anything within 10 s of a member's death: a job may lose one every few seconds, all day."""
    ONCE = 1
    """What is said once, heartbeats, faults."""
    AT_THE_END = -(1 << 62)
    """Anything after the end of the last rank."""


class Budget:
    """A bucket of bytes that fills with time; writes through it are what is counted."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._left = float(_FULL)
        self._filled_m: int | None = None

    def allows(self, matters: Matters, now: int) -> bool:
        """Whether there is room for something that matters so much. `now`: monotonic nanoseconds."""
        passed = 0 if self._filled_m is None else now - self._filled_m
        self._filled_m = now
        self._left = min(_FULL, self._left + passed / _SECOND * _RATE)
        return self._left >= matters

    def add(self, event: str, **fields: object) -> None:
        """Writes a record, and counts it."""
        self._left -= len(json.dumps(fields)) + len(event) + _FRAME
        self._journal.add(event, **fields)
