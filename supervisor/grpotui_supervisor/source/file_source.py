"""A bare log file as a source: what a log can tell, and nothing that it cannot."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.logs import reader_for
from grpotui_supervisor.logs.reader import plain
from grpotui_supervisor.logs.tensorboard import TensorBoardReader
from grpotui_supervisor.source.blocks import blocks
from grpotui_supervisor.source.metrics import Metrics
from grpotui_supervisor.source.sections import checkpoint_fields, logs_progress
from grpotui_supervisor.source.status import SCHEMA, number

if TYPE_CHECKING:
    from collections.abc import Callable

EVENT_FILE = ".tfevents"
"""In the name of every TensorBoard event file, which is no text."""
NOT_IN_A_LOG = ("exits and signals", "memory", "what was sent", "times of the lines")
"""What the status of a bare log says that it cannot say."""


class FileSource:
    """A log file, read to its present end.

    Attributes:
        path: the file; `-` for standard input.
        logs: its metrics.
    """

    def __init__(self, path: str, *, framework: str = "auto", logging_steps: int | None = None) -> None:
        self.path = path
        self._looks_like: str | None = None
        is_events = EVENT_FILE in os.path.basename(path)
        self.logs = Metrics(TensorBoardReader() if is_events else reader_for(framework, logging_steps=logging_steps))

    def read(self, progress: Callable[[int], None] | None = None) -> None:
        """Reads the whole file; `progress` is told the bytes read so far (unpacked).

        Raises:
            UsageError: the file cannot be read.
        """
        done = 0
        for block in blocks(self.path):
            if self._looks_like is None:
                self._looks_like = _first_words(block)
            self.logs.feed(block)
            done += len(block)
            if progress is not None:
                progress(done)
        if not isinstance(self.logs.reader, TensorBoardReader):
            self.logs.feed(b"\n")  # a file may end without one; what is written after it is not ours to wait for

    def rows_until(self, step: int | None) -> int:
        """How many rows were printed when the log had reached that step; None: all."""
        if step is None:
            return self.logs.steps
        reached = [
            row for row in range(self.logs.steps) if (found := self.logs.step_of(row)) is not None and found <= step
        ]
        return reached[-1] + 1 if reached else 0

    def _step(self, rows: int) -> int | None:
        """At the end the reader's word counts, which has the progress bar as well; before it, the row's."""
        reader = self.logs.reader
        return reader.step if reader is not None and rows == self.logs.steps else self.logs.step_of(rows - 1)

    def status(self, step: int | None = None) -> dict[str, Any]:
        """The status document as of a step: exits, memory and times are null, since a log does not hold them."""
        rows, reader = self.rows_until(step), self.logs.reader
        whole = rows == self.logs.steps
        return {
            "schema": SCHEMA,
            "run": None,
            "source": self.path if self.path == "-" else os.path.abspath(self.path),
            "framework": self.logs.framework,
            "state": None,
            "verdict": None,
            "training_complete": bool(reader and reader.training_complete and whole),
            "step": self._step(rows) if rows else None,
            "steps_total": reader.steps_total if reader else None,
            "phase": self.logs.phase.name if self.logs.phase is not None and whole else None,
            "phase_from": "log" if self.logs.phase is not None and whole else None,
            "progress": {**logs_progress(self.logs, rows), "step": self._step(rows) if rows else None},
            "records": rows,
            "metrics": {key: number(value) for key, value in sorted(self.logs.latest_metrics(rows).items())},
            "checkpoints": [
                checkpoint_fields(one, rows)
                for one in reversed(self.logs.checkpoints.found)
                if one.rows < rows or whole
            ],
            "ranks": [],
            "gpus": [],
            "gpu_unavailable": "not in this log",
            "looks_like": self._looks_like if not rows else None,
            "not_in_source": list(NOT_IN_A_LOG),
            "findings": [],
        }


def _first_words(block: bytes) -> str | None:
    """The first line that holds anything, for a person to see what this is; at most 120 characters."""
    lines = (plain(line).strip() for line in block[:65536].decode("utf-8", "replace").splitlines())
    return next((line[:120] for line in lines if line), None)
