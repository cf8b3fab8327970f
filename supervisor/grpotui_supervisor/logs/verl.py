"""Reads the console of verl 0.1 to 0.9: `step:12 - actor/entropy:0.5 - critic/score/mean:np.float64(0.2)`.

The line reaches us through Ray: coloured, behind `(TaskRunner pid=42) `, glued to a progress bar in front of
it or to the next actor's record behind it. A key may hold a colon, so the last one splits. Some trainers print
a step two or three times; `Columns` merges them. `step:0` is the validation before training.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.columns import Columns
from grpotui_supervisor.logs.reader import BAR, Lines, number

if TYPE_CHECKING:
    from collections.abc import Iterator

_STEP = re.compile(r"(?<![A-Za-z_/.-])step:([0-9]{1,15}) - ")  # not the tail of `training/global_step:3 - `
_NEXT_RECORD = re.compile(r"\((?:\w+ )?pid=[0-9]|\[repeated [0-9]")
_TOTAL = re.compile(r"Total training steps: ([0-9]{1,15})(?![0-9])")
_BAR = re.compile(rf"Training Progress: *{BAR}")
_FINAL = "Final validation metrics"


class VerlReader:
    """One verl run, from its driver's output; either stream may carry the lines."""

    framework = "verl"
    phase: str | None = None
    """verl names no phase in its log."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.steps_total: int | None = None
        self._streams: dict[str, Lines] = {}
        self._printed: int | None = None
        self._bar: int | None = None
        self._final = False

    @property
    def step(self) -> int | None:
        """The further one of metrics and bar: they come by two streams, and neither waits for the other."""
        return max((step for step in (self._printed, self._bar) if step is not None), default=None)

    @property
    def training_complete(self) -> bool:
        """The last step's metrics are printed, after its checkpoint, or the final validation is."""
        return self._final or (bool(self.steps_total) and (self._printed or 0) >= (self.steps_total or 0))

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:
        """Read the next bytes of a stream."""
        for line in self._streams.setdefault(stream, Lines()).feed(block):
            self._read(line)

    def _read(self, line: str) -> None:
        if "step" in line:
            self._read_records(line)
            if total := _TOTAL.search(line):
                self.steps_total = int(total[1])
        if bar := _BAR.search(line):
            self._bar, self.steps_total = int(bar[1]), int(bar[2])
        self._final = self._final or _FINAL in line

    def _read_records(self, line: str) -> None:
        _, *parts = _STEP.split(line)  # step, its text, step, its text ...
        for step, text in zip(parts[::2], parts[1::2], strict=True):
            if pairs := list(_pairs(text)):
                self._printed = int(step)
                self.columns.record(self._printed, pairs)


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    """The metrics of one record; a key with a space must hold a slash, or it is prose."""
    for field in _NEXT_RECORD.split(text, maxsplit=1)[0].split(" - "):
        key, _, printed = field.strip().rpartition(":")
        value = number(printed)
        if value is not None and key and (" " not in key or "/" in key):
            yield key, value
