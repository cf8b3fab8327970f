"""Reads minimind's GRPO script: `Epoch:[1/1](7/9751), Reward: -2.2258, KL_ref: -0.0035, Avg Response Len: 330.00`."""

from __future__ import annotations

import re

from grpotui_supervisor.logs.line_reader import LineReader
from grpotui_supervisor.logs.reader import number

_LINE = re.compile(r"Epoch:\[([0-9]{1,9})/([0-9]{1,9})\]\(([0-9]{1,12})/([0-9]{1,12})\), (Reward: .*)")


class MinimindReader(LineReader):
    """One run of minimind's script. Steps count on from epoch to epoch."""

    framework = "minimind"

    def _read(self, line: str, stream: str) -> None:  # noqa: ARG002
        found = _LINE.fullmatch(line) if line.startswith("Epoch:[") else None
        if found is None:
            return
        epoch, epochs, batch, batches = (int(found[group]) for group in (1, 2, 3, 4))
        texts = (field.partition(": ") for field in found[5].split(", "))
        self.step, self.steps_total = (epoch - 1) * batches + batch, epochs * batches
        self.training_complete |= self.step >= self.steps_total
        self._record(self.step, ((key, value) for key, _, text in texts if (value := number(text)) is not None))
