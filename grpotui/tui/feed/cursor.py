"""A feed whose cursor is moved by a person, or by itself."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from grpotui.tui.feed.feed import PERIOD_S, Feed
from grpotui.tui.feed.frame import Play

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.feed.frame import Frame
    from grpotui_supervisor.source.marks import Mark

SPEEDS = tuple(2**power for power in range(13))
SHOWN_AFTER_S = 0.2
"""A move that takes longer says how far it is."""


class CursorFeed(Feed):
    """Opens a source, then goes where it is told to.

    Its places are where records of metrics came, in ascending order; they are known once all of the source was read.
    """

    unit = 1.0
    """Places of the cursor in one second at speed 1."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted: int | None = None
        self._play = Play()
        self._asked = threading.Condition()
        self._places: Sequence[int] = ()
        self._marks: Sequence[Mark] = ()
        self._span: tuple[int, int] | None = None
        self._moving_since = 0.0

    def wake(self) -> None:
        """The thread looks at what is asked for."""
        with self._asked:
            self._asked.notify()

    def seek(self, at: int) -> None:
        """Of several wishes only the last one counts."""
        with self._asked:
            self._wanted = self._within(at)
            self._asked.notify()

    def step_by(self, count: int) -> None:
        """From the place that was asked for last, if it was not reached yet."""
        with self._asked:
            here = self._wanted if self._wanted is not None else self.frame.moment
        if here is None or not self._places:
            return
        at = bisect_right(self._places, here) - 1
        if count < 0 and at >= 0 and self._places[at] < here:
            at += 1
        at += count
        first = self._span[0] if self._span is not None else self._places[0]
        self.seek(first if at < 0 else self._places[min(at, len(self._places) - 1)])

    def play(self, *, playing: bool | None = None, speed: int | None = None) -> None:
        """At its end it begins anew."""
        with self._asked:
            play = self._play if speed is None else replace(self._play, speed=speed)
            self._play = play if playing is None else replace(play, playing=playing)
            at_end = self._span is not None and self.frame.moment is not None and self.frame.moment >= self._span[1]
            if self._play.playing and at_end and self._span is not None:
                self._wanted = self._span[0]
            self._asked.notify()

    @property
    def played(self) -> Play:
        """How the cursor moves by itself."""
        return self._play

    def span(self) -> tuple[int, int] | None:
        """The first and the last place."""
        return self._span

    def marks(self) -> Sequence[Mark]:
        """What happened, in its order."""
        return self._marks

    def _run(self) -> None:
        self._moving_since = time.monotonic()
        self._open()
        at = float(self._at())
        before = time.monotonic()
        while not self.closing.is_set():
            with self._asked:
                if self._wanted is None:
                    self._asked.wait(PERIOD_S if self._play.playing else None)
                now = time.monotonic()
                wanted, self._wanted = self._wanted, None
                at = float(wanted) if wanted is not None else self._played_on(at, now - before)
                before = now
            if self.closing.is_set():
                return
            self._moving_since = now
            if int(at) != self._at():
                self._move(int(at))
            self._post(self._frame())

    def _played_on(self, at: float, seconds: float) -> float:
        """Where the cursor is so much later."""
        if not self._play.playing or self._span is None:
            return at
        at += min(seconds, 1.0) * self._play.speed * self.unit
        if at >= self._span[1]:
            self._play = replace(self._play, playing=False)
            return float(self._span[1])
        return at

    def _within(self, at: int) -> int:
        return at if self._span is None else min(max(at, self._span[0]), self._span[1])

    def _at(self) -> int:
        """Where the source is."""
        raise NotImplementedError

    def _open(self) -> None:
        """Reads the source and posts its first frames; `_places`, `_marks` and `_span` are known after it."""
        raise NotImplementedError

    def _move(self, at: int) -> None:
        raise NotImplementedError

    def _frame(self, reading: tuple[int, int | None] | None = None) -> Frame:
        raise NotImplementedError

    def _on_read(self, done: int, total: int | None) -> None:
        """Between two blocks: others have their turn, and a long move says how far it is."""
        self._give_way()
        if time.monotonic() - self._moving_since > SHOWN_AFTER_S and self._is_due():
            self._post(self._frame((done, total)))
