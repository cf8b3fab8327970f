"""Textual's driver for a browser, which ends with the server that it draws for."""

from __future__ import annotations

import asyncio

from textual import messages
from textual.drivers.web_driver import WebDriver


class WebPageDriver(WebDriver):
    """Textual's goes on drawing for nobody when its input ends."""

    def run_input_thread(self) -> None:
        """The end of the input is the end of the server, or of the window."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            asyncio.run_coroutine_threadsafe(self._app._post_message(messages.ExitApp()), loop=self._loop)  # noqa: SLF001
