"""A thread that works on what a page wished for last, a few milliseconds at a time."""

from __future__ import annotations

import threading
from typing import Final, Generic, TypeVar

W = TypeVar("W")
_JOIN_S: Final = 2.0


class WishThread(Generic[W]):
    """It starts with the first wish; what it does in a turn is the subclass's matter."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked = threading.Condition()
        self._next: W | None = None
        self._closed = False
        self._thread: threading.Thread | None = None

    def ask(self, wish: W) -> None:
        """Of several wishes only the last one counts."""
        with self._asked:
            self._next = wish
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._asked.notify()

    def close(self) -> None:
        """Ends the thread."""
        with self._asked:
            self._closed = True
            self._asked.notify()
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def _turn(self, wish: W | None) -> bool:
        """Takes the wish, if there is a new one, and works for some milliseconds; whether there is more to do."""
        raise NotImplementedError

    def _rest_s(self) -> float | None:
        """So long it rests without a wish when there is nothing more to do; None: until there is one."""
        return None

    def _release(self) -> None:
        """The thread ends."""

    def _work(self) -> None:
        try:
            busy = False
            while True:
                with self._asked:
                    if not busy:
                        self._asked.wait_for(lambda: self._next is not None or self._closed, self._rest_s())
                    wish, self._next = self._next, None
                    if self._closed:
                        return
                busy = self._turn(wish)
        finally:
            self._release()
