"""A bare log: what it can tell, record by record."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

from grpotui.tui.feed.cursor import CursorFeed
from grpotui.tui.feed.frame import Frame
from grpotui.tui.feed.place import Place
from grpotui.tui.feed.share import share_of
from grpotui.tui.lines.growth import FileGrowth
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.curves import Curves
from grpotui_supervisor.source.marks import marks_of_log
from grpotui_supervisor.source.moments import parse_step
from grpotui_supervisor.source.samples import samples
from grpotui_supervisor.source.time_split import Splits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grpotui.tui.feed.frame import Kind
    from grpotui.tui.lines.growth import Growth
    from grpotui_supervisor.samples.sample import Sample
    from grpotui_supervisor.source.file_source import FileSource


class LogFeed(CursorFeed):
    """The cursor is the number of records that count."""

    kind: ClassVar[Kind] = "log"

    def __init__(self, source: FileSource, step: int | None) -> None:
        """`step`: where to begin; None: at its end."""
        super().__init__()
        self._source = source
        self._step = step
        self._rows: int | None = None
        self._found = Curves(source.logs)
        self._times = Splits(source.logs)

    @property
    def title(self) -> str:
        """The file's name."""
        return os.path.basename(os.path.abspath(self._source.path))

    def find(self, text: str) -> int:
        """A step, or `50%`.

        Raises:
            UsageError: there is no such step.
        """
        share = share_of(text)
        if share is not None and self._span is not None:
            return max(1, round(self._span[1] * share))
        step = parse_step(text)
        if step is None:
            raise UsageError(f"{text!r} is no step", hint="a bare log has no times: give the number of a step, or 50%")
        with self.lock:
            return self._source.at(step)

    def samples(self, note: Callable[[str], object]) -> Iterator[Sample]:
        """All of them: a log does not tell which were there at a record."""
        if self._source.path == "-":
            note("what came through a pipe cannot be read again: give grpotui the log itself")
            return iter(())
        return samples(self._source, note=note)

    def growth(self) -> Growth:
        """By its records."""
        return FileGrowth(self._source, self.title, is_read=self._rows is not None)

    def _place(self, moment: int) -> Place:
        """The moments are records."""
        step = self._source.logs.step_of(moment - 1) if 0 < moment <= self._source.logs.steps else None
        return Place(step, None, is_done=True)

    def _open(self) -> None:
        with self.lock:
            self._source.read(self._on_read, row_ends=True)
            rows = self._source.logs.steps
            self._rows = rows if self._step is None else self._source.at(self._step)
            self._places, self._marks = range(1, rows + 1), marks_of_log(self._source.logs)
            self._span = (min(1, rows), rows)
            for note in self._source.notes:
                self._say(note)
        self._post(self._frame())

    def _at(self) -> int:
        return 0 if self._rows is None else self._rows

    def _move(self, at: int) -> None:
        with self.lock:
            if at < self._at():
                self._found.renew()
            self._rows = at

    def _frame(self, reading: tuple[int, int | None] | None = None) -> Frame:
        rows = self._source.logs.steps if self._rows is None else self._rows
        return Frame(
            kind="log",
            document=self._source.status(rows),
            moment=self._rows,
            rows=rows,
            reading=reading,
            play=self._play,
        )

    def _curves(self) -> Curves:
        return self._found

    def _splits(self) -> Splits:
        return self._times

    def _limit(self) -> int | None:
        return self._rows
