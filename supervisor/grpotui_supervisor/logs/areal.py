"""Reads AReaL: `Epoch 1/10 Step 1/29 Train step 1/290 done.` and a table of four keys and values a row behind it.

The step is the one that is printed, which counts from 1; wandb and TensorBoard get one less. A step may have several
tables, one for each of its mini-batches; the last one counts. Numbers have five digits.
"""

from __future__ import annotations

import re

from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.line_reader import LineReader, Pair, Row
from grpotui_supervisor.logs.reader import number

_STEP = re.compile(r"Train step ([0-9]{1,15})/([0-9]{1,15}) done\.")
_LOGGER = "(AReaL)"
_COMPLETE = "Training completes! Total time elapsed"
_FRAME = ("╞", "├")


class ArealReader(LineReader):
    """One AReaL run, from the output of its trainer or one of the logs that it writes."""

    framework = "areal"

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, Row] = {}
        self._tables: dict[str, list[Pair]] = {}

    def _read(self, line: str, stream: str) -> None:
        if line.startswith("│"):
            self._read_cells(line, stream)
        elif line.startswith("╒"):
            self._tables[stream] = []
        elif not line.startswith(_FRAME):
            self._end_table(stream)
            if _LOGGER in line:
                self._read_message(line, stream)

    def _read_message(self, line: str, stream: str) -> None:
        if done := _STEP.search(line):
            self.step, self.steps_total = int(done[1]), int(done[2])
            self._rows[stream] = Row(self.columns, self.step)
        elif stream not in self._rows:
            self._rows[stream] = Row(self.columns, UNKNOWN_STEP)
        self.training_complete |= _COMPLETE in line

    def _read_cells(self, line: str, stream: str) -> None:
        cells = [cell.strip() for cell in line.strip("│ ").split("│")]
        found = [
            (key, value)
            for key, text in zip(cells[::2], cells[1::2], strict=False)
            if key and (value := number(text)) is not None
        ]
        if stream in self._tables:
            self._tables[stream] += found
        elif stream in self._rows:  # a table that lost its frame, as grep leaves it
            self._rows[stream].put(found)

    def _end_table(self, stream: str) -> None:
        found = self._tables.pop(stream, [])
        if stream in self._rows:
            self._rows[stream].put(found)
