"""A lock that a long piece of work gives up for a moment whenever somebody asks for it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

_SERVED_S = 0.0005
_PATIENCE_S = 0.1


class Turns:
    """A mutual exclusion in which whoever asks briefly comes before the one who works long.

    A plain lock that is released and taken again is nearly always taken by the same thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking = 0
        self._count = threading.Lock()

    def __enter__(self) -> None:
        with self._count:
            self._asking += 1
        self._lock.acquire()
        with self._count:
            self._asking -= 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def give_way(self) -> None:
        """Called by who holds it, between two pieces of work."""
        if not self._asking:
            return
        self._lock.release()
        deadline = time.monotonic() + _PATIENCE_S
        while self._asking and time.monotonic() < deadline:
            time.sleep(_SERVED_S)
        self._lock.acquire()
