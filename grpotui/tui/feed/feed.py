"""What all feeds have in common: one thread that owns the source, and what the screens may ask it for."""

from __future__ import annotations

import threading
import time
from array import array
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from grpotui.tui.feed.frame import Frame
from grpotui.tui.feed.turns import Turns
from grpotui_supervisor.source.curves import Curve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from grpotui.tui.feed.frame import Kind
    from grpotui.tui.feed.place import Place
    from grpotui.tui.lines.growth import Growth
    from grpotui_supervisor.model.finding import Raised
    from grpotui_supervisor.samples.sample import Sample
    from grpotui_supervisor.source.curves import Axis, Curves
    from grpotui_supervisor.source.device_curves import DeviceCurves, PhaseSpan, Reading
    from grpotui_supervisor.source.marks import Mark
    from grpotui_supervisor.source.time_split import Split, Splits

PERIOD_S = 1 / 8
"""From one frame to the next, at least."""
_READING_S = 0.5
"""The same while a long log is read: the document of a frame takes 50 ms then, and the reading waits for it."""
_JOIN_S = 2.0
NO_CURVE = Curve(1, 0, array("d"), array("d"), more=False)


class Closed(Exception):  # noqa: N818  (no error: the way out of a long piece of reading)
    """Nobody looks any more."""


class Feed:
    """A source, as of a cursor.

    Its thread changes the source and holds `lock` meanwhile, which it gives up between blocks of a log; the screens
    take it only to copy what is new of a curve. A frame that nobody has drawn yet is replaced by the next one.

    Attributes:
        frame: the newest one.
        error: what ended the thread before its time.
    """

    kind: ClassVar[Kind]

    def __init__(self) -> None:
        self.lock = Turns()
        self.frame = Frame(kind=self.kind)
        self.error: BaseException | None = None
        self._notice: str | None = None
        self._told: Callable[[], object] | None = None
        self._waiting = False
        self._posting = threading.Lock()
        self._posted_at = float("-inf")
        self._thread: threading.Thread | None = None
        self.closing = threading.Event()

    def start(self, told: Callable[[], object]) -> None:
        """Starts reading. `told` is called in the feed's thread when a frame is there that `take` was not asked for."""
        self._told = told
        self._thread = threading.Thread(target=self._work, name=f"{self.kind} feed", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; what it reads is left where it is."""
        self.closing.set()
        self.wake()
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def wake(self) -> None:
        """The thread has something to look at."""

    def take(self) -> Frame:
        """The newest frame; its changes are those of all the frames since the last call."""
        with self._posting:
            frame, self._waiting = self.frame, False
            self.frame = replace(frame, changes=())
        return frame

    @property
    def title(self) -> str:
        """What it is that is looked at."""
        raise NotImplementedError

    # Curves

    def curve(self, name: str, begin: int = 0, version: int = 0, axis: Axis = "step") -> Curve:
        """What of a metric is new since `version`, from index `begin` on; `x` of time counts from the run's start."""
        with self.lock:
            found = self._curves().curve(name, begin, version, axis=axis, rows=self._limit())
            start = self._start() if axis == "time" else 0.0
        return found._replace(x=array("d", (x - start for x in found.x))) if start else found

    def splits(self, count: int) -> list[Split]:
        """Where the time of the last `count` records went, of those that tell."""
        with self.lock:
            return self._splits().last(count, self._limit())

    def memory(self, gpu: str, reading: Reading, begin: int = 0, version: int = 0) -> Curve:
        """What of a device's memory is new since `version`: GiB over seconds since the start; empty without a run."""
        with self.lock:
            devices = self._devices()
            return NO_CURVE if devices is None else devices.curve(gpu, reading, begin, version)

    def phases(self, begin: float, end: float, most: int) -> list[PhaseSpan] | None:
        """The phases between two times in seconds since the start; None: they are more than `most`."""
        with self.lock:
            devices = self._devices()
            return [] if devices is None else devices.phases(begin, end, most)

    def names(self) -> list[str]:
        """Canonical names of the metrics."""
        with self.lock:
            return self._curves().names()

    def keys(self) -> list[str]:
        """The framework's own keys; `curve` takes them with `raw:` before."""
        with self.lock:
            return self._curves().keys()

    def raw_name(self, name: str) -> str | None:
        """The framework's key for a canonical name, where one stands for it alone."""
        with self.lock:
            return self._curves().raw_name(name)

    def doubts(self) -> dict[str, str]:
        """Metrics that are known to be wrong in this framework, with the reason."""
        with self.lock:
            return self._curves().doubts()

    def facts(self) -> Mapping[str, Any]:
        """What does not change about a run: run.json; a bare log has nothing of it."""
        return {}

    def raised(self) -> Sequence[Raised]:
        """Every finding up to the cursor, oldest first, the cleared ones too."""
        return ()

    def samples(self, note: Callable[[str], object]) -> Iterator[Sample]:
        """Prompts, answers and rewards, as of the cursor where that is known. For a thread that reads them.

        `note` is told what a reader of the samples should know about a file. Iterating may raise UsageError.
        """
        raise NotImplementedError

    def log_sizes(self) -> dict[str, int]:
        """Bytes of each log as of the cursor, by its path for `log_path`; empty where lines cannot be shown."""
        return {}

    def log_path(self, name: str) -> str:
        """Where such a log lies; no more of it may be shown than its size tells."""
        return name

    def growth(self) -> Growth:
        """How the logs grew: which of their lines may be shown as of a moment. For a thread that reads lines.

        As long as there is no cursor yet, that of a bare log knows no moments; then it has to be asked for again.
        """
        raise NotImplementedError

    def place(self, moment: int) -> Place:
        """Where in the run a moment of the cursor was."""
        with self.lock:
            return self._place(moment)

    # The cursor; a live run has none

    def seek(self, at: int) -> None:
        """Sets the cursor: monotonic nanoseconds of a run, records of a log."""

    def step_by(self, count: int) -> None:
        """Moves the cursor by records of metrics."""

    def play(self, *, playing: bool | None = None, speed: int | None = None) -> None:
        """Lets the cursor move by itself, or not."""

    def find(self, text: str) -> int:
        """The place that a person means: a step, `+90`, a date, `50 %`.

        Raises:
            UsageError: there is no such place.
        """
        raise NotImplementedError

    def span(self) -> tuple[int, int] | None:
        """The first and the last place of the cursor; None while they are not known."""
        return None

    def marks(self) -> Sequence[Mark]:
        """What happened, in its order; empty while it is not known."""
        return ()

    # For the thread of the feed

    def _work(self) -> None:
        try:
            self._run()
        except Closed:
            return
        except BaseException as error:  # noqa: BLE001  (told by the app, in its own thread)
            self.error = error
            if self._told is not None:
                self._told()

    def _run(self) -> None:
        raise NotImplementedError

    def _curves(self) -> Curves:
        raise NotImplementedError

    def _splits(self) -> Splits:
        raise NotImplementedError

    def _devices(self) -> DeviceCurves | None:
        """None: what is looked at knows of no device."""
        return None

    def _limit(self) -> int | None:
        """Only so many records are shown of those that are read."""
        return None

    def _place(self, moment: int) -> Place:
        raise NotImplementedError

    def _start(self) -> float:
        """Where the axis of time begins."""
        return 0.0

    def _post(self, frame: Frame) -> None:
        """Puts a frame in the place of one that nobody has drawn."""
        with self._posting:
            fresh, self._waiting = not self._waiting, True
            self.frame = replace(frame, changes=(*self.frame.changes, *frame.changes), notice=self._notice)
        self._posted_at = time.monotonic()
        if fresh and self._told is not None and not self.closing.is_set():
            self._told()

    def _give_way(self) -> None:
        """Between two blocks of a log.

        Raises:
            Closed: reading on is for nobody.
        """
        self.lock.give_way()
        if self.closing.is_set():
            raise Closed

    def _is_due(self) -> bool:
        return time.monotonic() - self._posted_at >= _READING_S

    def _say(self, text: str) -> None:
        self._notice = text
