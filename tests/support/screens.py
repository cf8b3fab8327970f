"""The dashboard without a terminal: opened on a source, driven by keys, read as lines of text."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from grpotui.tui import cells
from grpotui.tui.app import Dashboard, Rights
from grpotui.tui.feed.log import LogFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.tui.panels.page import Page
from grpotui.tui.screens.pages import PAGES
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.file_source import FileSource
from support.emulator import cells as cells_of
from support.hostile import harmless

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from grpotui.tui.feed.feed import Feed

_DEADLINE_S = 20.0

P = TypeVar("P", bound=Page)
T = TypeVar("T")


def lines_of(app: Dashboard) -> list[str]:
    """What is on the screen, row by row."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


def text_of(app: Dashboard) -> str:
    """The same in one piece."""
    return "\n".join(lines_of(app))


def widths_of(app: Dashboard) -> set[int]:
    """The columns that the rows take, counted as a terminal does."""
    return {sum(map(cells_of, line)) for line in lines_of(app)}


async def until(pilot: Pilot[None], condition: Callable[[], T], *, seconds: float = _DEADLINE_S, what: str = "it") -> T:
    """Waits for what the dashboard shows, and returns what is true of it.

    Raises:
        AssertionError: it did not come; the message is the screen.
    """
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"{what} did not come:\n{text_of(pilot.app)}"  # type: ignore[arg-type]
        await asyncio.sleep(0.02)
        await pilot.pause()
    return found


async def turned_to(kind: type[P], app: Dashboard, pilot: Pilot[None]) -> P:
    """That page, by its key, once there is something to show."""
    await until(pilot, lambda: app.run_screen is not None and not app.run_screen.frame.is_empty)
    await pilot.press(next(entry.key for entry in PAGES if entry.kind == kind.__name__))
    await until(pilot, lambda: bool(app.screen.query(kind)))
    await pilot.pause()
    return app.screen.query_one(kind)


def on_page(
    kind: type[P],
    feed: Feed,
    use: Callable[[P, Dashboard, Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (120, 40),
    rights: Rights | None = None,
) -> None:
    """Opens the dashboard, turns to a page, and does with it what a test wants to."""

    async def go() -> None:
        app = Dashboard(feed, rights or Rights())
        try:
            async with app.run_test(size=size) as pilot:
                await use(await turned_to(kind, app, pilot), app, pilot)
        finally:
            await asyncio.to_thread(feed.close)

    asyncio.run(go())


class Shown:
    """An app that is looked at, in short words."""

    def __init__(self, app: Dashboard, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    def lines(self) -> list[str]:
        """Rows of the screen."""
        return lines_of(self.app)

    def text(self) -> str:
        """The same in one piece."""
        return text_of(self.app)

    async def until(self, condition: Callable[[], T]) -> T:
        """Waits for something true."""
        return await until(self.pilot, condition)

    async def sees(self, words: str) -> str:
        """Waits for a text on the screen; returns its row."""
        await self.until(lambda: words in self.text())
        return next((line for line in self.lines() if words in line), "")

    async def press(self, *keys: str) -> None:
        """One after the other."""
        await self.pilot.press(*keys)


async def press_harmlessly(app: Dashboard, pilot: Pilot[None], *keys: str) -> None:
    """After each key no byte of what others wrote acts on the terminal, and every row is as wide as the screen."""
    for key in keys:
        await pilot.press(key)
        await pilot.pause()
        assert harmless(text_of(app))
        assert {cells.width(line) for line in lines_of(app)} == {app.size.width}


@asynccontextmanager
async def opened(feed: Feed, size: tuple[int, int]) -> AsyncIterator[tuple[Dashboard, Pilot[None]]]:
    """The dashboard once all of the source is read and drawn."""
    app = Dashboard(feed)
    try:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.run_screen is not None and _is_read(app))
            await pilot.pause()
            yield app, pilot
    finally:
        feed.close()


def _is_read(app: Dashboard) -> bool:
    screen = app.run_screen
    return screen is not None and not screen.frame.is_empty and app.feed.span() is not None and not app.feed._waiting


def replay(folder: Path, moment: int | None = None) -> ReplayFeed:
    """A run directory at a moment, or at its end."""
    return ReplayFeed(RunDirectory(str(folder)), moment)


def log(path: Path) -> LogFeed:
    """A bare log."""
    return LogFeed(FileSource(str(path)), None)
