"""One browser window: a process that draws the dashboard, and the WebSocket that its output goes to.

The packets are those of Textual's web driver: a letter (D data, M meta), four bytes of length, big-endian, the payload.
Of what the process may ask for beside drawing, only its end is obeyed: no file is delivered, and no address opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Final

from aiohttp import WSMsgType

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence

    from aiohttp import web

_BEGIN: Final = b"__GANGLION__\n"
_QUIT_S: Final = 3.0
_KILL_S: Final = 2.0
_WIDE: Final = (20, 500)
_HIGH: Final = (5, 300)
_LONGEST: Final = 16 << 20
"""Bytes of a packet; a full screen of 500 × 300 cells, each with its own colours, takes 6 MiB."""
_KEPT: Final = ("stdin", "resize", "ping", "blur", "focus")


def packet(kind: bytes, payload: bytes) -> bytes:
    """As Textual's web driver reads and writes them."""
    return kind + len(payload).to_bytes(4, "big") + payload


def within(value: object, limits: tuple[int, int], default: int) -> int:
    """A size that a browser tells, if it is one."""
    try:
        return min(max(int(str(value)), limits[0]), limits[1])
    except ValueError:
        return default


class Bridge:
    """Runs until either side has ended."""

    def __init__(self, words: Sequence[str], socket: web.WebSocketResponse) -> None:
        """`words` follow `python -m grpotui.tui.served`."""
        self._words = list(words)
        self._socket = socket
        self._process: Process | None = None

    async def run(self, width: object, height: object) -> None:
        """The process is gone when this returns, however it returns."""
        size = within(width, _WIDE, 80), within(height, _HIGH, 24)
        self._process = process = await _start(self._words, size)
        try:
            drawing = asyncio.create_task(self._draw(process))
            typing = asyncio.create_task(self._type(process))
            _, pending = await asyncio.wait({drawing, typing}, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        finally:
            await asyncio.shield(_end(process))
            with contextlib.suppress(ConnectionError, RuntimeError):
                await self._socket.close()

    async def _draw(self, process: Process) -> None:
        """From the process to the browser."""
        assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
        read = process.stdout.readexactly
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            if await read(len(_BEGIN)) != _BEGIN:
                return
            while True:
                head = await read(5)
                length = int.from_bytes(head[1:], "big")
                if length > _LONGEST:
                    return
                payload = await read(length)
                if head[:1] == b"D":
                    await self._socket.send_bytes(payload)
                elif head[:1] == b"M" and json.loads(payload).get("type") == "exit":
                    return

    async def _type(self, process: Process) -> None:
        """From the browser to the process."""
        assert process.stdin is not None  # noqa: S101  (a pipe was asked for)
        async for message in self._socket:
            if message.type != WSMsgType.TEXT:
                continue
            found = _taken(message.data)
            if found is None:
                continue
            if found[0] == "ping":
                await self._socket.send_str(json.dumps(["pong", str(found[1])[:32]]))
                continue
            try:
                process.stdin.write(_packet_of(*found))
                await process.stdin.drain()
            except ConnectionError:
                return


def _taken(text: str) -> tuple[str, Any] | None:
    """`["stdin", "q"]` as (kind, value); None for anything that is no message."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not found or found[0] not in _KEPT:
        return None
    return str(found[0]), found[1] if len(found) > 1 else None


def _packet_of(kind: str, value: Any) -> bytes:  # noqa: ANN401  (of a browser)
    if kind == "stdin":
        return packet(b"D", str(value).encode("utf-8", "replace"))
    fields: dict[str, object] = {"type": kind}
    if kind == "resize":
        sizes = value if isinstance(value, dict) else {}
        fields["width"] = within(sizes.get("width"), _WIDE, 80)
        fields["height"] = within(sizes.get("height"), _HIGH, 24)
    return packet(b"M", json.dumps(fields).encode())


async def _start(words: Sequence[str], size: tuple[int, int]) -> Process:
    """In a session of its own: Ctrl-C in the server's terminal is the server's. No shell, nothing of the browser's."""
    environment = {
        **os.environ,
        "TEXTUAL_DRIVER": "grpotui.tui.web_driver:WebPageDriver",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "COLUMNS": str(size[0]),
        "ROWS": str(size[1]),
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "grpotui.tui.served",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


async def _end(process: Process) -> None:
    """Asked first, then made to."""
    if process.stdin is not None and process.returncode is None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            process.stdin.write(packet(b"M", json.dumps({"type": "quit"}).encode()))
            process.stdin.close()
    reading = asyncio.create_task(_emptied(process))
    for number, seconds in ((signal.SIGTERM, _QUIT_S), (signal.SIGKILL, _KILL_S)):
        try:
            await asyncio.wait_for(process.wait(), seconds)
            break
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
    await process.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def _emptied(process: Process) -> None:
    """What it still draws must not keep it from ending."""
    if process.stdout is not None:
        while await process.stdout.read(1 << 16):
            pass
