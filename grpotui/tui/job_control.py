"""Suspended and continued by a shell, stopped and continued by anybody, with the terminal in order each time.

Textual's own handlers start a second reader of the keyboard where a client was stopped by SIGSTOP, which hangs it when
it leaves; and they stop a client for ever that no shell can continue (`ssh -t host grpotui attach`).
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.driver import Driver

_UNSTOPPED_S = 0.1
"""Who runs on so long after it was to stop has nobody who would continue it: the kernel ignores SIGTSTP then."""


class JobControl:
    """Handles SIGTSTP and SIGCONT in the loop that runs."""

    def __init__(self, driver: Driver, redraw: Callable[[], object]) -> None:
        self._driver = driver
        self._redraw = redraw
        self._loop = asyncio.get_running_loop()
        self._is_suspended = False
        self._loop.add_signal_handler(signal.SIGTSTP, self._suspend)
        self._loop.add_signal_handler(signal.SIGCONT, self._continued)

    def _suspend(self) -> None:
        """The terminal is the shell's before the process stops, which it does in here."""
        self._driver.suspend_application_mode()
        self._is_suspended = True
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        self._loop.add_signal_handler(signal.SIGTSTP, self._suspend)
        self._loop.call_later(_UNSTOPPED_S, self._resume)

    def _continued(self) -> None:
        """What the terminal was set to meanwhile is not known: everything anew."""
        if not self._is_suspended:
            self._driver.suspend_application_mode()
            self._is_suspended = True
        self._resume()

    def _resume(self) -> None:
        if self._is_suspended:
            self._is_suspended = False
            self._driver.resume_application_mode()
            self._redraw()
