"""Reads all GPUs from one thread, which alone waits for the driver; what it saw is taken without waiting.

NVML's calls go through one lock of the driver: a second thread would gain nothing. A call that hangs cannot be ended,
not even by SIGKILL: the thread is a daemon, and nobody waits for it for long.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from grpotui_supervisor.errors import GpuUnavailable
from grpotui_supervisor.gpu.events import Event, Opened, Slow, Unavailable
from grpotui_supervisor.gpu.nvml import Nvml
from grpotui_supervisor.gpu.pace import Pace
from grpotui_supervisor.gpu.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_LISTS_EVERY = 2
"""So many looks to one at the process lists: for each list the driver walks all its clients under its lock."""
_OPEN_AGAIN_S = 60.0
_ANSWERS_S = 1.0
"""A call that comes back within this time is not silence."""
_JOIN_S = 2.0
_UNTAKEN = 4096
"""Events kept for a reader that does not come; the oldest go first."""


class Sampler:
    """The thread, and what it saw; `fd` becomes readable when there is something to take."""

    def __init__(self, *, interval_s: float = 1.0) -> None:
        """`interval_s`: from look to look; process lists are read in every second one. In a hurry both at 4 Hz."""
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._events: deque[Event] = deque(maxlen=_UNTAKEN)
        self._pace = Pace(interval_s)
        self._nudge = threading.Event()
        self._closing = self._abandoned = self._again = False
        self._asked_at: float | None = None
        self._looks = 0
        self._thread = threading.Thread(target=self._run, name="gpu-sampler", daemon=True)

    def start(self) -> None:
        """Begins; the library is opened by the thread, since that may take seconds."""
        self._thread.start()

    def take(self) -> list[Event]:
        """What came since the last call, in order. Never blocks."""
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            return []
        return [self._events.popleft() for _ in range(len(self._events))]

    def hurry(self, seconds: float) -> None:
        """Readings and lists at 4 Hz for so long from now."""
        self._pace.hurry(seconds)
        self._nudge.set()

    def find_again(self) -> None:
        """Looks for the devices anew before the next look, with what seldom changes (`Health`)."""
        self._again = True
        self._nudge.set()

    def silent_s(self) -> float:
        """For how long the driver has not answered the question it was asked; 0.0 while it answers within a second."""
        asked_at = self._asked_at
        waited = 0.0 if asked_at is None else time.monotonic() - asked_at
        return waited if waited > _ANSWERS_S else 0.0

    def close(self) -> None:
        """Ends the thread. One that hangs in the driver is left there after 2 s, and the library stays open."""
        self._closing = True
        self._nudge.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_S)
        self._abandoned = self._thread.is_alive()
        if not self._abandoned:
            os.close(self.fd)

    def _run(self) -> None:
        try:
            nvml = self._open()
            if nvml is not None:
                self._watch(nvml)
        except Exception as error:  # noqa: BLE001  (a thread that ends without a word would look like calm devices)
            self._say(Unavailable(f"GPUs are read no more: {error!r}", None))

    def _watch(self, nvml: Nvml) -> None:
        self._say(Opened(nvml.driver, nvml.cuda))
        rounds = Rounds(nvml, ask=self._ask, say=self._say)
        while not self._closing:
            self._tick(rounds)
        if rounds.close() and not self._abandoned:
            nvml.close()

    def _open(self) -> Nvml | None:
        """The open library; None: it cannot be opened, or is not wanted any more."""
        said = False
        while not self._closing:
            try:
                return self._ask(Nvml)
            except GpuUnavailable as error:
                if not said:
                    self._say(Unavailable(str(error), error.hint))
                said = True
                if not error.may_pass:
                    return None
            self._pause(_until(_OPEN_AGAIN_S))
        return None

    def _tick(self, rounds: Rounds) -> None:
        if rounds.empty or self._again:
            self._again = False
            rounds.find()
        if rounds.empty:
            self._pause(_until(_OPEN_AGAIN_S))
            return
        self._pace.begin()  # finding is no part of it: attaching the devices takes seconds, once
        rounds.look(lists=self._pace.hurried or self._looks % _LISTS_EVERY == 0)
        self._looks += 1
        took = self._pace.end()
        if took is not None:
            self._say(Slow(took * 1e3, self._pace.interval_s))
        self._pause(self._pace.left_s)

    def _ask(self, question: Callable[[], T]) -> T:
        self._asked_at = time.monotonic()
        try:
            return question()
        finally:
            self._asked_at = None

    def _say(self, event: Event) -> None:
        """Called by the thread that waits for faults, too."""
        self._events.append(event)
        os.eventfd_write(self.fd, 1)

    def _pause(self, left_s: Callable[[], float]) -> None:
        """Until no time is left; in the meantime it may become less."""
        while not (self._closing or self._again) and (left := left_s()) > 0:
            self._nudge.wait(left)
            self._nudge.clear()


def _until(seconds: float) -> Callable[[], float]:
    until = time.monotonic() + seconds
    return lambda: until - time.monotonic()
