"""A bare log file as a source: what a log can tell, and nothing that it cannot."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.logs import reader_for
from grpotui_supervisor.logs.reader import plain
from grpotui_supervisor.logs.tensorboard import TensorBoardReader, is_event_file
from grpotui_supervisor.source.blocks import Blocks, is_packed, size_of
from grpotui_supervisor.source.folders import EVENT_FILE, content
from grpotui_supervisor.source.metrics import Metrics
from grpotui_supervisor.source.progress_fields import checkpoint_fields, logs_progress
from grpotui_supervisor.source.row_ends import RowEnds, grain, pieces
from grpotui_supervisor.source.status import SCHEMA, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from grpotui_supervisor.logs.reader import Reader

    Progress = Callable[[int, int | None], object]

NOT_IN_A_LOG = ("exits and signals", "memory", "what was sent", "times of the lines")
"""What the status of a bare log says that it cannot say."""

_PARQUET = b"PAR1"


class FileSource:
    """A log file, or a folder with the files of a run that grpotui did not start; read to its present end.

    Attributes:
        path: the file or folder; `-` for standard input.
        logs: its metrics.
        notes: what a reader of the metrics should know about the file.
    """

    def __init__(self, path: str, *, framework: str = "auto", logging_steps: int | None = None) -> None:
        """`logging_steps` is the trainer's setting of that name, where known.

        Raises:
            UsageError: it is a folder in which there is nothing to read.
        """
        self.path = path
        self.notes: list[str] = []
        self._files: tuple[str, ...] = (path,)
        self._shown = path
        self._looks_like: str | None = None
        self._rows = RowEnds()
        self._grain: int | None = None
        self.logs = Metrics(reader_for(framework, logging_steps=logging_steps))
        if path != "-" and os.path.isdir(path):
            found = content(path)
            self._files, self._shown = found.files, found.path
            if found.others:
                among = "" if found.is_all else ", as far as was looked"
                self.notes.append(f"there are {found.others + 1} runs in it; this is the newest{among}: {found.path}")

    def read(self, progress: Progress | None = None, *, row_ends: bool = False) -> None:
        """Reads everything; `progress` is told how many bytes of how many were read, packed where they are packed.

        `row_ends`: learns also up to which byte each row is there, which takes some 40 % longer.

        Raises:
            UsageError: a file cannot be read, or holds no metrics by its kind.
        """
        if not self._files:
            raise _only_samples(self.path)
        done, total = 0, size_of(self._files)
        self._grain = grain(total) if row_ends else None
        for file in self._files:
            part = Blocks(file)
            for _ in self._reading(part):
                if progress is not None:
                    progress(done + part.position, total)
            done += part.position
        self._take_notes()

    def _reading(self, part: Blocks) -> Iterator[None]:
        """Reads a file block by block."""
        reader = self.logs.reader
        if isinstance(reader, TensorBoardReader):
            reader.next_file()
        first = True
        for block in part:
            if first:
                reader = self._begin(part.path, block)
            first = False
            for piece in (block,) if self._grain is None else pieces(block, self._grain):
                self.logs.feed(piece)
                self._rows.take(len(piece), self.logs.steps)
            yield
        if not isinstance(reader, TensorBoardReader):
            self.logs.feed(b"\n")  # a file may end without one; what is written after it is not ours to wait for
            self._rows.take(0, self.logs.steps)
        if part.cut is not None:
            self.notes.append(f"{part.path}: {part.cut}")

    def _begin(self, path: str, block: bytes) -> Reader | None:
        """The reader for a file that begins so."""
        if block.startswith(_PARQUET):
            raise _only_samples(path)
        if not isinstance(self.logs.reader, TensorBoardReader) and (is_event_file(block) or _is_named_so(path)):
            self.logs.reader = TensorBoardReader()
        if self._looks_like is None:
            self._looks_like = _first_words(block)
        return self.logs.reader

    def _take_notes(self) -> None:
        reader = self.logs.reader
        if isinstance(reader, TensorBoardReader):
            if reader.damaged is not None:
                self.notes.append(f"{reader.damaged}: what lies behind it cannot be read")
            if reader.bad_records:
                self.notes.append(f"damaged records left out: {reader.bad_records}")

    def at(self, step: int) -> int:
        """How many rows were printed when the log had reached that step.

        Raises:
            UsageError: the log does not tell, or does not reach it, or begins behind it.
        """
        steps = [found for row in range(self.logs.steps) if (found := self.logs.step_of(row)) is not None]
        if not steps:
            why = "it tells no steps" if self.logs.steps else "there are no metrics in it"
            raise UsageError(f"step {step} is not in {self.path}: {why}", hint="without --at all of it is shown")
        if not min(steps) <= step <= max(steps):
            hint = f"it has step {min(steps)} to step {max(steps)}"
            raise UsageError(f"step {step} is not in {self.path}", hint=hint)
        return max(row for row in range(self.logs.steps) if -1 < self._step_of(row) <= step) + 1

    @property
    def no_lines(self) -> str | None:
        """Why nobody can go back to a line of it, once it was read; None: its lines are in the one file `path`."""
        if isinstance(self.logs.reader, TensorBoardReader):
            return "an event file has no lines"
        if self.path == "-" or len(self._files) != 1 or self._files[0] != self.path or size_of(self._files) is None:
            return "these lines came from no file that could be read again: give grpotui the log itself"
        return "this log is compressed: unpack it to see its lines" if is_packed(self.path) else None

    def row_ends(self) -> Sequence[int]:
        """For each row up to which byte of the file it is there; only where `read` was asked to learn it."""
        assert self._grain is not None  # noqa: S101  (whoever asks had it learnt)
        return self._rows.exact(self.path, self.logs.framework, self._grain)

    @property
    def content_bytes(self) -> int:
        """Bytes that were read, unpacked."""
        return self._rows.total

    def _step_of(self, row: int) -> int:
        step = self.logs.step_of(row)
        return -1 if step is None else step

    def _step(self, rows: int) -> int | None:
        """At the end the reader's word counts, which has the progress bar as well; before it, the row's."""
        reader = self.logs.reader
        return reader.step if reader is not None and rows == self.logs.steps else self.logs.step_of(rows - 1)

    def status(self, rows: int | None = None) -> dict[str, Any]:
        """The status document as of so many rows: exits, memory and times are null, since a log does not hold them."""
        reader = self.logs.reader
        rows = self.logs.steps if rows is None else rows
        whole = rows == self.logs.steps
        return {
            "schema": SCHEMA,
            "run": None,
            "source": self._shown if self._shown == "-" else os.path.abspath(self._shown),
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


def _only_samples(path: str) -> UsageError:
    return UsageError(
        f"{path} holds samples, and no metrics", hint=f"grpotui export {path} --samples --to jsonl shows them"
    )


def _is_named_so(path: str) -> bool:
    return EVENT_FILE in os.path.basename(path)


def _first_words(block: bytes) -> str | None:
    """The first line that holds anything, for a person to see what this is; at most 120 characters."""
    lines = (plain(line).strip() for line in block[:65536].decode("utf-8", "replace").splitlines())
    return next((line[:120] for line in lines if line), None)
