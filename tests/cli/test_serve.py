"""The dashboard in a browser: who is let in, what is shown, that nothing can be changed, and that nothing is left."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from support.commands import refused
from support.waiting import wait_until

from grpotui_supervisor.shim import procfs

aiohttp = pytest.importorskip("aiohttp", reason="the extra web is not installed")

from support import browser  # noqa: E402  (needs it)

from grpotui.web import guard  # noqa: E402
from grpotui.web.bridge import within  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from aiohttp import ClientWebSocketResponse
    from support.runs import Home

RUN = Path(__file__).parent.parent / "data" / "runs" / "h200" / "sigkill"


class Serving:
    """A server, as a person starts it."""

    def __init__(self, process: subprocess.Popen[str], words: str) -> None:
        self.process, self.words = process, words
        found = re.search(r"http://\S+/", words)
        assert found is not None, words
        self.url = found[0]
        self.token = self.url.split("/")[3]
        self.netloc = urlsplit(self.url).netloc
        self.base = f"http://{self.netloc}"

    @property
    def children(self) -> list[int]:
        """Processes that it has started."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]


@contextmanager
def serving(home: Path, *words: str) -> Iterator[Serving]:
    """Serves until the block ends, and ends for certain."""
    process = subprocess.Popen(
        [sys.executable, "-m", "grpotui", "serve", "--port", "0", *words],
        env={**os.environ, "GRPOTUI_HOME": str(home), "HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        yield Serving(process, "".join(process.stderr.readline() for _ in range(3)))
    finally:
        process.kill()
        process.wait()
        process.stderr.close()  # type: ignore[union-attr]


@asynccontextmanager
async def window(server: Serving, **headers: str) -> AsyncIterator[ClientWebSocketResponse]:
    """A WebSocket as the page opens it."""
    url = f"ws://{server.netloc}/{server.token}/ws?width=100&height=30"
    asked = {"Origin": server.base, **headers}
    async with aiohttp.ClientSession() as session, session.ws_connect(url, headers=asked) as socket:
        yield socket


async def drawn(socket: ClientWebSocketResponse, wanted: str, seconds: float = 20.0) -> str:
    """Everything that was drawn until the wanted text was."""
    text = ""
    async with asyncio.timeout(seconds):
        while wanted not in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text):
            message = await socket.receive()
            assert message.type == aiohttp.WSMsgType.BINARY, (message, text)
            text += message.data.decode("utf-8", "replace")
    return text


async def status(server: Serving, path: str, **headers: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"{server.base}{path}", headers=headers) as answer:
        return int(answer.status)


def test_only_who_has_the_token_and_comes_from_here_is_let_in(tmp_path: Path) -> None:
    async def ask(server: Serving) -> dict[str, int]:
        own = f"/{server.token}/"
        return {
            "right": await status(server, own),
            "same origin": await status(server, own, Origin=server.base),
            "tunnel": await status(server, own, Host="localhost:9999"),
            "none": await status(server, "/"),
            "wrong": await status(server, f"/{'x' * len(server.token)}/"),
            "shorter": await status(server, f"/{server.token[:-1]}/"),
            "not ascii": await status(server, "/%F0%9F%98%80/"),
            "query": await status(server, f"/?token={server.token}"),
            "rebound": await status(server, own, Host="evil.example"),
            "rebound with port": await status(server, own, Host=f"evil.example:{urlsplit(server.base).port}"),
            "userinfo": await status(server, own, Host="localhost@evil.example"),
            "foreign": await status(server, own, Origin="http://evil.example"),
            "null": await status(server, own, Origin="null"),
            "other port": await status(server, own, Origin="http://127.0.0.1:1"),
            "no such file": await status(server, f"{own}server.py"),
            "folder above": await status(server, f"{own}..%2f..%2fserver.py"),
        }

    with serving(tmp_path) as server:
        found = asyncio.run(ask(server))
    right = {"right", "same origin", "tunnel"}
    assert {name for name, code in found.items() if code == 200} == right
    assert {name for name, code in found.items() if code == 404} == {"no such file", "folder above"}
    assert all(code == 403 for name, code in found.items() if name not in {*right, "no such file", "folder above"})


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}], ids=str
)
def test_no_other_sites_page_opens_a_window(tmp_path: Path, headers: dict[str, str]) -> None:
    async def ask(server: Serving) -> int:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with window(server, **headers):
                pass
        return int(refused.value.status)

    with serving(tmp_path) as server:
        assert asyncio.run(ask(server)) == 403
        assert server.children == []


def test_a_window_shows_a_run_and_takes_its_processes_with_it(tmp_path: Path) -> None:
    async def look(server: Serving) -> list[int]:
        async with window(server) as socket:
            await drawn(socket, "rank 1 killed by SIGKILL")
            there = server.children
            await socket.send_json(["stdin", "2"])
            await drawn(socket, "SIGKILL")
            await socket.send_str("no message at all")
            await socket.send_json(["resize", {"width": "wide", "height": None}])
            await socket.send_json(["stdin", "q"])
            async with asyncio.timeout(15):
                while (await socket.receive()).type != aiohttp.WSMsgType.CLOSE:
                    pass
        return there

    with serving(tmp_path, str(RUN)) as server:
        (child,) = asyncio.run(look(server))
        wait_until(lambda: not procfs.stat(child), what="the end of the window's process")


def test_ctrl_c_ends_it_with_every_window(tmp_path: Path) -> None:
    async def look(server: Serving) -> list[int]:
        async with window(server) as one, window(server) as other:
            await drawn(one, "grpotui launch demo")
            await drawn(other, "grpotui launch demo")
            there = server.children
            server.process.send_signal(signal.SIGINT)
            await asyncio.to_thread(server.process.wait, 15)
        return there

    with serving(tmp_path) as server:
        there = asyncio.run(look(server))
        assert len(there) == 2
        assert server.process.returncode == 0
        assert [pid for pid in there if procfs.stat(pid)] == []


def test_a_window_ends_with_a_server_that_was_killed(tmp_path: Path) -> None:
    async def look(server: Serving) -> list[int]:
        async with window(server) as socket:
            await drawn(socket, "grpotui launch demo")
            there = server.children
            server.process.kill()
        return there

    with serving(tmp_path) as server:
        (child,) = asyncio.run(look(server))
        wait_until(lambda: not procfs.stat(child), what="the end of the window's process")


def test_it_listens_on_loopback_only(home: Home) -> None:
    refused(home.run("serve", "--host", "0.0.0.0", "--port", "0"), 2, "0.0.0.0 is no loopback address", "ssh -L")
    for host, own in {"127.0.0.1": True, "127.8.9.1": True, "::1": True, "localhost": True, "10.0.0.1": False,
                      "localhost.evil.example": False, "": False, "0": False}.items():  # fmt: skip
        assert guard.is_loopback(host) is own, host


def test_every_start_has_its_own_token_and_says_the_tunnel(tmp_path: Path) -> None:
    with serving(tmp_path) as one, serving(tmp_path) as other:
        assert one.token != other.token
        assert len(one.token) >= 43
        assert re.search(r"ssh -L \d+:127\.0\.0\.1:\d+ ", one.words)


def test_what_cannot_be_opened_is_said_before_it_serves(home: Home) -> None:
    refused(home.run("serve", "no-such-run"), 2, "no run 'no-such-run'")


def test_sizes_of_a_browser_are_held_within_reason() -> None:
    assert [within(value, (20, 500), 80) for value in ("100", 1e9, "-5", None, "wide", "9" * 50)] == [
        100, 80, 20, 80, 80, 500,
    ]  # fmt: skip


@pytest.mark.skipif(browser.found() is None, reason="no Chromium here")
def test_in_a_real_browser(tmp_path: Path) -> None:
    """What it draws is looked at as a picture; and nothing is fetched from elsewhere."""

    async def look(server: Serving) -> tuple[bytes, list[str]]:
        async with browser.page(tmp_path / "browser") as tab:
            await tab.call("Page.navigate", url=server.url)
            await tab.wait("document.body && document.body.classList.contains('-first-byte')")
            await tab.wait(
                "document.fonts.status === 'loaded' && document.querySelector('.xterm-screen canvas') !== null"
            )
            deadline = asyncio.get_running_loop().time() + 20
            while browser.is_blank(png := await tab.picture()):
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.1)
            await tab.press("q")
            await tab.wait("document.body.classList.contains('-closed')")
            return png, tab.asked_for

    with serving(tmp_path, str(RUN)) as server:
        png, asked_for = asyncio.run(look(server))
        folder = os.environ.get("GRPOTUI_TEST_PICTURES")
        if folder:
            Path(folder, "serve.png").write_bytes(png)
        outside = [url for url in asked_for if urlsplit(url).netloc != server.netloc and not url.startswith("data:")]
        assert outside == [], json.dumps(asked_for, indent=1)
