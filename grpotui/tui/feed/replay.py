"""A run as it was on record at a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from grpotui.tui.feed.cursor import CursorFeed
from grpotui.tui.feed.frame import Frame
from grpotui.tui.feed.place import place_in
from grpotui.tui.feed.share import share_of
from grpotui.tui.lines.growth import RunGrowth
from grpotui_supervisor.source.curves import Curves
from grpotui_supervisor.source.device_curves import DeviceCurves
from grpotui_supervisor.source.marks import marks_of
from grpotui_supervisor.source.moments import parse_moment
from grpotui_supervisor.source.reading import count_bytes
from grpotui_supervisor.source.samples import samples
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status
from grpotui_supervisor.source.time_split import Splits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from grpotui.tui.feed.frame import Kind
    from grpotui.tui.feed.place import Place
    from grpotui.tui.lines.growth import Growth
    from grpotui_supervisor.model.finding import Raised
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.samples.sample import Sample


class ReplayFeed(CursorFeed):
    """Any moment of a run: forward the fold goes on, backward it begins anew."""

    kind: ClassVar[Kind] = "replay"
    unit = 1e9

    def __init__(self, directory: RunDirectory, moment: int | None) -> None:
        """`moment` in monotonic nanoseconds; None: its end."""
        super().__init__()
        self.directory = directory
        self._moment = moment
        self._source = Source(directory)
        self._found = Curves(self._source.logs)
        self._times = Splits(self._source.logs, self._source.probes)
        self._memory = DeviceCurves(self._source)

    @property
    def title(self) -> str:
        """The run's id."""
        return self.directory.run_id

    def find(self, text: str) -> int:
        """A step, `+90`, a local date and time, or `50%`.

        Raises:
            UsageError: there is no such moment.
        """
        share = share_of(text)
        if share is not None and self._span is not None:
            first, last = self._span
            return first + round((last - first) * share)
        return parse_moment(text, self.directory)

    def facts(self) -> Mapping[str, Any]:
        """run.json."""
        return self._source.facts

    def raised(self) -> Sequence[Raised]:
        """As of the cursor."""
        with self.lock:
            return tuple(self._source.raised)

    def samples(self, note: Callable[[str], object]) -> Iterator[Sample]:
        """As of the cursor."""
        return samples(self._source, note=note)

    def log_sizes(self) -> dict[str, int]:
        """By their paths below `ranks/`."""
        with self.lock:
            return self._source.logs.sizes()

    def log_path(self, name: str) -> str:
        """In the run directory."""
        return self.directory.file(f"ranks/{name}")

    def growth(self) -> Growth:
        """By the timeline."""
        return RunGrowth(self.directory)

    def _open(self) -> None:
        count_bytes(self._source, self._on_read)
        with self.lock:
            self._source.update(self._moment)
        self._post(self._frame())
        whole = self._source
        if self._moment is not None:
            whole = Source(self.directory)
            whole.logs.on_read = lambda _: self._give_way()
            with self.lock:  # not the one that is shown, but a thread that parses lets nobody else compute either
                whole.update(None)
        self._index(whole)
        self._post(self._frame())

    def _index(self, whole: Source) -> None:
        self._marks = marks_of(whole)
        moments = [moment for moment in whole.logs.moments if moment >= 0]
        self._places = sorted(set(moments))
        first = whole.start_m if whole.start_m is not None else whole.run.first_m
        known = [*moments, *(mark.at for mark in self._marks), *(m for m in (whole.last_m, first) if m is not None)]
        if known:
            self._span = (min(known) if first is None else first, max(known))
            self._moment = self._span[1] if self._moment is None else self._moment

    def _at(self) -> int:
        return 0 if self._moment is None else self._moment

    def _move(self, at: int) -> None:
        with self.lock:
            if at < (self._moment or 0):
                before, self._source = self._found, Source(self.directory)
                count_bytes(self._source, self._on_read)
                self._found = Curves(self._source.logs, after=before)
                self._times = Splits(self._source.logs, self._source.probes)
                self._memory = DeviceCurves(self._source, after=self._memory)
            self._moment = at
            self._source.update(at)

    def _frame(self, reading: tuple[int, int | None] | None = None) -> Frame:
        source = self._source
        return Frame(
            kind="replay",
            document=status(source),
            moment=self._moment,
            rows=source.logs.steps,
            reading=reading,
            play=self._play,
        )

    def _place(self, moment: int) -> Place:
        return place_in(self._source.logs, moment, self._source.start_m)

    def _curves(self) -> Curves:
        return self._found

    def _splits(self) -> Splits:
        return self._times

    def _devices(self) -> DeviceCurves:
        return self._memory

    def _start(self) -> float:
        return 0.0 if self._source.start_m is None else self._source.start_m / 1e9
