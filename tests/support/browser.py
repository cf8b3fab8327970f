"""A headless Chromium that is asked over its own debugging protocol; nothing is downloaded for it."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import signal
import subprocess
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def found() -> str | None:
    """The browser of this machine, if it has one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.asked_for: list[str] = []
        """Every address that the page wanted."""

    async def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """One command and its answer."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            message = await self._socket.receive_json(timeout=20)
            if message.get("method") == "Network.requestWillBeSent":
                self.asked_for.append(message["params"]["request"]["url"])
            if message.get("method") == "Network.webSocketCreated":
                self.asked_for.append(message["params"]["url"])
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])

    async def value(self, script: str) -> Any:
        """What a script comes to."""
        answer = await self.call("Runtime.evaluate", expression=script, awaitPromise=True)
        return answer["result"].get("value")

    async def wait(self, script: str, seconds: float = 20.0) -> None:
        """Until it is true."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not await self.value(script):
            assert asyncio.get_running_loop().time() < deadline, f"never true: {script}"
            await asyncio.sleep(0.05)

    async def press(self, key: str) -> None:
        """A character."""
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=key, key=key)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def picture(self) -> bytes:
        """PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])


@asynccontextmanager
async def page(folder: Path) -> AsyncIterator[Page]:
    """A tab of a browser of its own, which is gone afterwards."""
    browser = found()
    assert browser is not None
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "about:blank"]
    words += [f"--user-data-dir={folder}", "--window-size=1200,760", "--enable-unsafe-swiftshader"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)  # noqa: ASYNC220  (it returns at once)
    try:
        port = await _port(folder / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            tabs = await (await session.get(f"http://127.0.0.1:{port}/json")).json(content_type=None)
            address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                tab = Page(socket)
                await tab.call("Network.enable")
                await tab.call("Page.enable")
                yield tab
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # its own session: the browser and its helpers
        await asyncio.to_thread(process.wait)


async def _port(file: Path) -> int:
    """It writes it there."""
    deadline = asyncio.get_running_loop().time() + 20
    while not (lines := await asyncio.to_thread(_read, file)):
        assert asyncio.get_running_loop().time() < deadline, "the browser does not start"
        await asyncio.sleep(0.05)
    return int(lines[0])


def _read(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def is_blank(png: bytes) -> bool:
    """Whether hardly anything is in a picture: one colour compresses to nothing."""
    return len(png) < 12_000
