"""A run as it goes on."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from grpotui.leftover_text import fate_line
from grpotui.tui.feed.feed import PERIOD_S, Feed
from grpotui.tui.feed.frame import Frame
from grpotui.tui.feed.place import place_in
from grpotui.tui.lines.growth import RunGrowth
from grpotui.watching import Watch, interrupt, is_over
from grpotui_supervisor import leftovers, supervisors
from grpotui_supervisor.readable import readable
from grpotui_supervisor.source.curves import Curves
from grpotui_supervisor.source.device_curves import DeviceCurves
from grpotui_supervisor.source.reading import count_bytes
from grpotui_supervisor.source.samples import samples
from grpotui_supervisor.source.status import status
from grpotui_supervisor.source.time_split import Splits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from grpotui.tui.feed.frame import Kind
    from grpotui.tui.feed.place import Place
    from grpotui.tui.lines.growth import Growth
    from grpotui.watching import End, Interrupts, Look
    from grpotui_supervisor.model.finding import Raised
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.samples.sample import Sample
    from grpotui_supervisor.source.source import Source

_SHOWN_AFTER_S = 0.15
"""Reading that takes less is not shown."""


class LiveFeed(Feed):
    """Follows a run to its end, and cares for it as every client does.

    Attributes:
        end: how it ended; None while it goes on, and while the last word on its devices is waited for.
        ended: nothing of the run is alive any more; whoever leaves now leaves no run behind.
        interrupted: is set when SIGINT came to this process.
    """

    kind: ClassVar[Kind] = "live"

    def __init__(self, directory: RunDirectory, interrupts: Interrupts) -> None:
        super().__init__()
        self.directory = directory
        self.end: End | None = None
        self.ended = False
        self.interrupted = threading.Event()
        self._interrupts = interrupts
        self._wakes = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._watch = Watch(directory, self._say, [self._wakes, interrupts.fd])
        self._found = Curves(self._watch.source.logs)
        self._times = Splits(self._watch.source.logs, self._watch.source.probes)
        self._memory = DeviceCurves(self._watch.source)
        self._began_at = 0.0
        count_bytes(self._watch.source, self._on_read)

    @property
    def source(self) -> Source:
        """What is read; for others only once the thread has ended."""
        return self._watch.source

    @property
    def title(self) -> str:
        """The run's id."""
        return self.directory.run_id

    def wake(self) -> None:
        """A wait ends."""
        if self._wakes >= 0:
            os.eventfd_write(self._wakes, 1)

    def close(self) -> None:
        """The descriptor that wakes the thread goes with it."""
        super().close()
        if self._wakes >= 0 and (self._thread is None or not self._thread.is_alive()):
            wakes, self._wakes = self._wakes, -1
            os.close(wakes)

    def facts(self) -> Mapping[str, Any]:
        """run.json."""
        return self._watch.source.facts

    def raised(self) -> Sequence[Raised]:
        """As of the last look."""
        with self.lock:
            return tuple(self._watch.source.raised)

    def samples(self, note: Callable[[str], object]) -> Iterator[Sample]:
        """As of the last look."""
        return samples(self._watch.source, note=note)

    def log_sizes(self) -> dict[str, int]:
        """By their paths below `ranks/`."""
        with self.lock:
            return self._watch.source.logs.sizes()

    def log_path(self, name: str) -> str:
        """In the run directory."""
        return self.directory.file(f"ranks/{name}")

    def growth(self) -> Growth:
        """By the timeline."""
        return RunGrowth(self.directory)

    def interrupt(self, *, again: bool) -> bool:
        """INT to the job, or its stop. Whether it was reached; what is to be said is in the next frame."""
        reached = interrupt(self.directory, self._say, again=again)
        self.wake()
        return reached

    def stop(self, *, now: bool = False) -> None:
        """Asks for the stop plan, or for KILL at once.

        Raises:
            GrpotuiError, OSError: the run was not reached.
        """
        supervisors.ask(self.directory, "kill" if now else "stop", why="the dashboard" + (", at once" if now else ""))
        self._say("stopping: INT, then TERM, then KILL" if not now else "KILL to every process of the run")
        self.wake()

    def end_leftovers(self) -> None:
        """TERM, then KILL, to what outlived the ranks; by the shim where there is one, else from here.

        Raises:
            GrpotuiError, OSError: the run was not reached.
        """
        if self.directory.is_locked("shim.lock"):
            supervisors.ask(self.directory, "leftovers", why="the dashboard")
            self._say("leftovers: TERM, then KILL")
            self.wake()
            return
        with self.lock:
            found = leftovers.living(self.directory.run_id, self._watch.source.run)
        seconds = self.facts().get("profile", {}).get("launch", {}).get("terminate_seconds", 10.0)
        ends = leftovers.end(self.directory.run_id, found, terminate_s=seconds, is_interrupted=self.closing.is_set)
        for fate in ends:
            self._say(fate_line(fate))
            self.wake()

    def outcome(self) -> End | None:
        """How the run ended, also where its last word was not waited for; None: it goes on, or was not read so far.

        For others only once the feed is closed.
        """
        with self.lock:
            if self.end is None and self.ended:
                self._watch.source.logs.on_read = lambda _: None  # what is left is little
                self.end = self._watch.end(self._watch.look())
        return self.end

    def _run(self) -> None:
        self._drain()
        look = self._look()
        while not is_over(look):
            self._watch.care(look)
            self._watch.wait()
            self.closing.wait(max(0.0, self._posted_at + PERIOD_S - time.monotonic()))
            if self.closing.is_set():
                self._watch.close()
                return
            self._drain()
            look = self._look()
        self._watch.settle_monitor(look, self._stopped)
        self._finish()
        while not self.closing.is_set():  # Ctrl-C from elsewhere still leaves
            readable([self._wakes, self._interrupts.fd], None)
            self._drain()
            if self.interrupted.is_set():
                self._post(self.frame)

    def _stopped(self) -> bool:
        """A round of waiting for the last word on the devices."""
        self._drain()
        self._look()
        return self.closing.is_set() or self.interrupted.is_set()

    def _look(self) -> Look:
        self._began_at = time.monotonic()
        with self.lock:
            look = self._watch.look()
            self.ended = is_over(look)
            frame = self._frame(look)
        self._post(frame)
        return look

    def _finish(self) -> None:
        with self.lock:
            look = self._watch.look()
            self.end = self.end or self._watch.end(look)
            if self.end.unmet is not None:
                self._say(self.end.unmet)
            frame = self._frame(look, over=True)
        self._watch.close()
        self._post(frame)

    def _frame(self, look: Look, *, over: bool = False) -> Frame:
        source = self._watch.source
        return Frame(
            kind="live",
            document=status(source, look.view),
            moment=source.as_of,
            rows=source.logs.steps,
            changes=tuple(look.changes),
            awaited=tuple(source.gpus.awaited(source.ends)) if self.ended and not over else (),
            over=over,
        )

    def _on_read(self, done: int, total: int | None) -> None:
        """Between two blocks of a log: others have their turn, and what is read already is shown."""
        self._give_way()
        long = time.monotonic() - self._began_at > _SHOWN_AFTER_S
        if long and self._is_due():
            source = self._watch.source
            frame = Frame(kind="live", document=status(source), moment=source.as_of, rows=source.logs.steps,
                          reading=(done, total))  # fmt: skip
            self._post(frame)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wakes)
        if self._interrupts.take():
            self.interrupted.set()

    def _place(self, moment: int) -> Place:
        return place_in(self._watch.source.logs, moment, self._watch.source.start_m)

    def _curves(self) -> Curves:
        return self._found

    def _splits(self) -> Splits:
        return self._times

    def _devices(self) -> DeviceCurves:
        return self._memory

    def _start(self) -> float:
        start = self._watch.source.start_m
        return 0.0 if start is None else start / 1e9
