"""What clients of one run show: all of them the same, whenever they came, and what a replay shows of that moment."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.runs import demo
from support.screens import lines_of, until
from support.terminal import Terminal
from support.waiting import wait_until

from grpotui.tui.app import Dashboard, Rights
from grpotui.tui.feed.live import LiveFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.watching import Interrupts
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from support.runs import Home

    from grpotui.tui.feed.feed import Feed

RUNS = os.path.join(os.path.dirname(__file__), "..", "data", "runs", "h200")
LIVE_ONLY = ("supervision", "monitor")
PAGES = "1234567"
"""Of the eighth the supervisors are a part, which live or do not live now."""
WIDE, HIGH = 120, 40


def recorded(document: Any) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in LIVE_ONLY}


async def seen(feed: Feed, *, high: int, least: int = 0) -> tuple[int, dict[str, Any], dict[str, list[str]]]:
    """The moment, the document and every page of a client that has come and looked once."""
    app = Dashboard(feed, Rights())
    async with app.run_test(size=(WIDE, high)) as pilot:
        await until(pilot, lambda: app.feed.frame.document and app.feed.frame.rows >= least, what=f"{least} steps")
        if feed.kind != "live":
            await until(pilot, lambda: feed.span() is not None, what="all of it read")
        feed.close()
        frame, screen = feed.take(), app.run_screen
        assert screen is not None
        assert frame.moment is not None
        screen.show(frame)
        pages = {}
        for key in PAGES:
            await pilot.press(key)
            await pilot.pause()
            await pilot.pause()
            pages[key] = lines_of(app)[-(HIGH - 1) :]
    return frame.moment, recorded(frame.document), pages


def test_a_frame_of_live_is_the_frame_of_replay(home: Home) -> None:
    """Clients that come in mid-run, one after the other, and one that comes after the end."""
    directory = RunDirectory(str(home.directory(demo(home, "kill"))))
    found = [asyncio.run(seen(LiveFeed(directory, Interrupts()), high=HIGH, least=least)) for least in (0, 1, 3, 5)]
    home.wait_for_state(directory.run_id, "ended", seconds=60)
    wait_until(lambda: not directory.is_locked("monitor.lock"), what="the end of the monitor")
    found.append(asyncio.run(seen(LiveFeed(directory, Interrupts()), high=HIGH)))
    assert found[-1][1]["verdict"] == "failed"
    assert len({moment for moment, _, _ in found}) == len(found)
    for moment, document, pages in found:
        _, again, replayed = asyncio.run(seen(ReplayFeed(directory, moment), high=HIGH + 1))
        assert again == document
        for key in PAGES:
            assert replayed[key] == pages[key], f"page {key} at {document['as_of']}"


def test_twenty_clients_of_one_run(home: Home) -> None:
    """All show the end, whenever they came; the run does not notice them, whatever becomes of them."""
    name = home.launch(home.ranks_profile("sleep", "sleep", grace=0.5))
    home.wait_for_state(name, "running")
    shim = [r for r in home.records(name) if r["ev"] == "shim"][-1]
    before = cpu(shim)
    clients = [Terminal(home.command("attach", name), home.environment, size=(80, 24)) for _ in range(20)]
    try:
        for client in clients:
            client.wait_for("● running", seconds=60)
        for client in clients[:3]:
            client.process.kill()
        began, spent = time.monotonic(), cpu(shim)
        os.kill(next(r["pid"] for r in home.records(name) if r["ev"] == "spawned"), 9)
        for client in clients[3:]:
            client.wait_for("rank 0", "SIGKILL", seconds=60)
        ends = set()
        for client in clients[3:]:
            client.wait_for("✖ failed")
            client.press("q")
        for client in clients[3:]:
            assert client.wait_end() == 137
            ends.add(client.text[client.text.index(f"run {name}") :])
            assert client.left() == {}
        assert len(ends) == 1
        assert spent - before < 20, "ticks of the shim while twenty clients came"
        assert time.monotonic() - began < 60
    finally:
        for client in clients:
            client.__exit__(None, None, None)
    assert not [r for r in home.records(name) if r["ev"] in ("request", "takeover", "guard_lost")]


def cpu(shim: dict[str, Any]) -> int:
    return sum(found.cpu_ticks for pid in (shim["guard"], shim["worker"]) if (found := procfs.stat(pid)))


@pytest.mark.parametrize(("name", "words"), [("sigkill", "rank 1 killed by SIGKILL"), ("normal", "passed: every")])
def test_a_replay_plays_to_the_end(name: str, words: str) -> None:
    """From its first moment, sixteen times as fast as it was; the end is the one that it shows at once."""
    directory = RunDirectory(os.path.join(RUNS, name))

    async def play() -> tuple[set[int | None], str]:
        feed = ReplayFeed(directory, None)
        app, steps = Dashboard(feed, Rights()), set()

        def shown() -> str:
            return "\n".join(line for line in lines_of(app)[2:] if line)

        def is_at(moment: int) -> bool:
            assert app.run_screen is not None
            steps.add(app.run_screen.frame.document.get("step"))
            return app.run_screen.frame.moment == moment

        async with app.run_test(size=(WIDE, HIGH)) as pilot:
            await until(pilot, lambda: feed.span() is not None)
            first, last = feed.span() or (0, 0)
            await until(pilot, lambda: is_at(last))
            await pilot.pause(0.2)
            end = shown()
            assert words in lines_of(app)[0]
            feed.play(playing=True, speed=16)
            await until(pilot, lambda: feed.frame.moment not in (None, last))
            await until(pilot, lambda: is_at(last), seconds=10 + (last - first) / 16e9, what="the end")
            await until(pilot, lambda: shown() == end, what="the picture of the end")
        return steps, end

    steps, _ = asyncio.run(play())
    assert len(steps) > 2
