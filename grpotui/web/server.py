"""The server of one start: one page, its fonts and scripts, and a WebSocket for each window."""

from __future__ import annotations

import asyncio
import html
import os
import secrets
import signal
import socket
from typing import TYPE_CHECKING, Final

import textual_serve
from aiohttp import web

from grpotui.web.bridge import Bridge
from grpotui.web.guard import guard, harden, is_loopback
from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STATIC: Final = os.path.join(os.path.dirname(textual_serve.__file__), "static")
_FILES: Final = {
    "textual.js": ("js/textual.js", "text/javascript"),
    "xterm.css": ("css/xterm.css", "text/css"),
    "mono.ttf": ("fonts/RobotoMono-VariableFont_wght.ttf", "font/ttf"),
}
"""Of Textual's own, and nothing else of that folder. The script wants its font by the name Roboto Mono."""
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="/{token}/xterm.css"><link rel="icon" href="data:,">
<style>
@font-face {{ font-family: "Roboto Mono"; src: local("DejaVu Sans Mono"), local("Cascadia Mono"),
  local("JetBrains Mono"), local("Menlo"), url("/{token}/mono.ttf"); }}
html, body {{ margin: 0; height: 100%; overflow: hidden; background: #121212; color: #e4e4e4; }}
.textual-terminal {{ width: 100vw; height: 100vh; }}
#closed {{ display: none; position: fixed; inset: 0; background: #121212d0; font: 16px sans-serif;
  align-items: center; justify-content: center; text-align: center; z-index: 10; }}
body.-closed #closed {{ display: flex; }}
#closed a {{ color: #56b4e9; }}
</style><script src="/{token}/textual.js"></script><script src="/{token}/focus.js" defer></script></head>
<body><div id="closed"><p>This window has ended; the runs go on.<br><a href="">Open it again</a></p></div>
<div id="terminal" class="textual-terminal" data-font-size="14"
  data-session-websocket-url="ws://{host}/{token}/ws"></div></body></html>
"""
_FOCUS: Final = """// Keys go to the terminal from the start on, without a click.
addEventListener("load", () => document.querySelector(".xterm-helper-textarea")?.focus());
"""
MOST_WINDOWS: Final = 20
_MESSAGE: Final = 1 << 20
_DOWN_S: Final = 8.0


class Server:
    """`url` is where it is reached once it has started."""

    def __init__(self, words: Sequence[str], *, title: str, host: str, port: int) -> None:
        """`words` say what is shown; port 0: any free one.

        Raises:
            UsageError: the address is not one of this machine's own.
        """
        if not is_loopback(host):
            raise UsageError(
                f"{host} is no loopback address: grpotui serve is reached from this machine only",
                hint=f"from another one: {tunnel(port or 8642)}",
            )
        self.token = secrets.token_urlsafe(32)
        self.port = port
        self._words, self._title, self._host = list(words), title, host
        self._windows: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """With the token of this start."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}/{self.token}/"

    def application(self) -> web.Application:
        """Routes below the token; everything else is refused before a route is looked for."""
        app = web.Application(middlewares=[guard(self.token)], client_max_size=1 << 10)
        app.on_response_prepare.append(harden)
        app.router.add_get(f"/{self.token}/", self._page)
        app.router.add_get(f"/{self.token}/ws", self._window)
        app.router.add_get(f"/{self.token}/{{name}}", self._file)
        return app

    async def start(self) -> None:
        """Listens.

        Raises:
            OSError: the port is taken.
        """
        self._runner = web.AppRunner(self.application(), access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self.port, reuse_address=True)
        await site.start()
        self.port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Ends every window, and returns when the processes behind them are gone."""
        for window in self._windows:
            window.cancel()
        if self._windows:
            await asyncio.wait(self._windows, timeout=_DOWN_S)
        if self._runner is not None:
            await self._runner.cleanup()

    async def _page(self, request: web.Request) -> web.Response:
        fields = {"title": self._title, "host": request.host, "token": self.token}
        page = _PAGE.format(**{name: html.escape(value) for name, value in fields.items()})
        return web.Response(text=page, content_type="text/html")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["name"] == "focus.js":
            return web.Response(text=_FOCUS, content_type="text/javascript")
        found = _FILES.get(request.match_info["name"])
        if found is None:
            return web.Response(status=404, text="404: there is nothing here\n")
        return web.FileResponse(os.path.join(_STATIC, found[0]), headers={"Content-Type": found[1]})

    async def _window(self, request: web.Request) -> web.StreamResponse:
        if len(self._windows) >= MOST_WINDOWS:
            return web.Response(status=503, text=f"503: {MOST_WINDOWS} windows are open already\n")
        ws = web.WebSocketResponse(heartbeat=15, max_msg_size=_MESSAGE, compress=False)
        await ws.prepare(request)
        bridge = Bridge(self._words, ws)
        window = asyncio.create_task(bridge.run(request.query.get("width"), request.query.get("height")))
        self._windows.add(window)
        try:
            await asyncio.gather(window, return_exceptions=True)
        finally:
            if not window.done():  # the browser is gone, and with it this handler
                window.cancel()
                await asyncio.gather(window, return_exceptions=True)
            self._windows.discard(window)
        return ws


def tunnel(port: int) -> str:
    """What to type on the machine that has the browser."""
    return f"ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}"


async def serve(server: Server, said: Callable[[Server], object]) -> None:
    """Serves until SIGINT or SIGTERM; `said` is called once it listens.

    Raises:
        OSError: the port is taken.
    """
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    await server.start()
    said(server)
    await over.wait()
    await server.stop()
