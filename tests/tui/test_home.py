"""The start screen: what there is, what is opened from it, what is asked before anything ends."""

from __future__ import annotations

import asyncio
import shutil
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
from support.machine import many, shown, start_screen, state_root, until
from textual.widgets import Input

from grpotui.tui.app import Rights
from grpotui.tui.feed.live import LiveFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.tui.feed.run_row import RunRow
from grpotui.tui.panels.run_list import RunList, columns
from grpotui.tui.screens.dialogs import HelpScreen, Question
from grpotui.tui.screens.overlay import OverlayScreen
from grpotui.tui.screens.run import RunScreen

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.screens.home import HomeScreen


def names(screen: HomeScreen) -> list[str]:
    """The runs in the list."""
    return [row.run for row in screen.list._rows_shown]


def has_rows(feed: Feed) -> bool:
    return feed.frame.rows > 0


def has_ended(feed: Feed) -> bool:
    return feed._thread is not None and not feed._thread.is_alive()


def test_runs_are_listed_newest_first_with_what_became_of_them(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path)) as (app, pilot):
            await until(pilot, lambda: all(row.logs is None for row in app.machine.frame.runs))
            assert names(app.home) == ["one-gpu", "teardown", "sigkill", "normal"]
            text = shown(app.screen)
            lines = {name: next(line for line in text.split("\n") if f" {name} " in line) for name in names(app.home)}
            assert "✔ passed" in lines["one-gpu"]
            assert "10/10" in lines["one-gpu"]
            assert "✖ failed" in lines["sigkill"]
            assert "3/10" in lines["sigkill"]
            assert "0.1954" in lines["sigkill"]
            assert "● 0 live" in text
            assert "4 ended" in text
            assert "passed: every rank exited 0" in text  # of the one at the cursor

    asyncio.run(look())


def test_enter_opens_and_both_ways_lead_back(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path)) as (app, pilot):
            for way in ("q", "escape"):
                await pilot.press("down", "enter")
                await until(pilot, lambda: isinstance(app.screen, RunScreen))
                assert isinstance(app.feed, ReplayFeed)
                feed = app.feed
                await until(pilot, partial(has_rows, feed))
                assert "reward/mean" in shown(app.screen)
                assert "q back" in shown(app.screen).split("\n")[-1]
                await pilot.press(way)
                await until(pilot, lambda: app.screen is app.home)
                await until(pilot, partial(has_ended, feed))
            assert app.home.list.current is not None
            assert app.home.list.current.run == "sigkill"
            await pilot.press("q")
            await until(pilot, lambda: not app.is_running)

    asyncio.run(look())


def test_esc_ends_what_is_zoomed_before_it_leads_back(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path, ["sigkill"])) as (app, pilot):
            await pilot.press("enter")
            await until(pilot, lambda: app.feed.frame.rows > 0)
            await pilot.press("z", "escape")
            assert isinstance(app.screen, RunScreen)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.home)

    asyncio.run(look())


def test_a_filter_takes_letters_that_are_keys_elsewhere(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path)) as (app, pilot):
            await pilot.press("slash", *"sigk", "enter")
            assert names(app.home) == ["sigkill"]
            assert "runs with sigk: 1 of 4" in shown(app.screen)
            await pilot.press("slash", *"qx")  # in place of what was there
            assert names(app.home) == []
            assert "no run fits" in shown(app.screen)
            await pilot.press("escape")
            assert len(names(app.home)) == 4
            assert isinstance(app.focused, RunList)
            assert app.home.query_one("#filter", Input).value == ""

    asyncio.run(look())


def test_selected_runs_are_laid_over_each_other(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path)) as (app, pilot):
            await pilot.press("o")
            assert app.screen is app.home  # one run is no overlay
            await pilot.press("space", "space", "o")
            await until(pilot, lambda: isinstance(app.screen, OverlayScreen))
            await pilot.press("q")
            await until(pilot, lambda: app.screen is app.home)
            assert [row.run for row in app.home.list.selected] == ["one-gpu", "teardown"]
            await pilot.press("escape")
            assert app.home.list.selected == []

    asyncio.run(look())


def test_at_most_six_are_selected(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(many(tmp_path, 8)) as (app, pilot):
            await pilot.press(*["space"] * 7)
            assert len(app.home.list.selected) == 6

    asyncio.run(look())


def test_without_runs_it_says_how_to_get_one(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(tmp_path / "none", size=(80, 24)) as (app, _):
            text = shown(app.screen)
            assert "No runs under" in text
            assert "grpotui launch demo" in text
            assert "trl-tiny-cpu" in text

    asyncio.run(look())


def test_damaged_and_foreign_directories_are_said(tmp_path: Path) -> None:
    root = state_root(tmp_path, ["sigkill"])
    for name, text in (("torn", b'{"schema": 1, "na'), ("newer", b'{"schema": 99}'), ("binary", b"\0\xff\x1b[2J")):
        (root / "runs" / name).mkdir()
        (root / "runs" / name / "run.json").write_bytes(text)
    (root / "runs" / "no-run").mkdir()

    async def look() -> None:
        async with start_screen(root) as (app, pilot):
            found = {row.run: row.state for row in app.machine.frame.runs}
            assert found == {"torn": "unreadable", "newer": "unreadable", "binary": "unreadable", "sigkill": "ended"}
            assert "? 3 unreadable" in shown(app.screen)
            while app.home.list.current is not None and app.home.list.current.run != "newer":
                await pilot.press("down")
            assert "newer grpotui" in shown(app.screen)
            await pilot.press("enter")
            assert app.screen is app.home

    asyncio.run(look())


def test_an_unsafe_root_is_a_reason_and_no_crash(tmp_path: Path) -> None:
    root = state_root(tmp_path, ["sigkill"])
    root.chmod(0o777)

    async def look() -> None:
        async with start_screen(root) as (app, _):
            assert "can be written by others" in shown(app.screen)

    asyncio.run(look())


def test_hundreds_of_runs_are_listed_in_time(tmp_path: Path) -> None:
    async def look() -> float:
        began = time.process_time()
        async with start_screen(many(tmp_path, 300), size=(80, 24)) as (app, pilot):
            assert len(names(app.home)) == 300
            await pilot.press("end")
            assert "run-0000" in shown(app.screen)
            assert "300/300" in shown(app.screen)
            await pilot.press("pageup", "home")
            assert "run-0299" in shown(app.screen)
        return time.process_time() - began

    assert asyncio.run(look()) < 10  # 1.5 s on an idle machine


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (200, 60)])
def test_every_size_shows_all_of_it(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path), size=size) as (app, pilot):
            await until(pilot, lambda: all(row.logs is None for row in app.machine.frame.runs))
            text = shown(app.screen)
            lines = text.split("\n")
            assert len(lines) == size[1]
            for word in ("teardown", "✖ failed", "GPU", "runs", "open", "quit", "3/10", "0.1954"):
                assert word in text, word
            assert "too small" not in text

    asyncio.run(look())


def test_a_tiny_terminal_is_told_so(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path, ["sigkill"]), size=(50, 12)) as (app, _):
            assert "too small" in shown(app.screen)

    asyncio.run(look())


def test_names_of_wide_characters_keep_their_columns() -> None:
    now = 1000.0
    rows = [
        columns(RunRow(run=name, path=name, state="ended", verdict="passed", words="w", began_t=1.0), (20, 20), now)
        for name in ("plain", "训练-中文-👩‍🔬-run", "\x1b[31mred\u202eevil", "a" * 80)
    ]
    from grpotui.tui import cells  # noqa: PLC0415

    ends = [cells.length(row[:2]) for row in rows]
    assert ends == [22] * 4
    assert not any("\x1b" in text or "\u202e" in text for row in rows for text, _ in row)


def test_a_live_run_appears_is_followed_and_is_stopped_by_its_name(home: Home) -> None:
    async def look() -> None:
        async with start_screen(home.path) as (app, pilot):
            assert names(app.home) == []
            run = await asyncio.to_thread(home.launch, home.ranks_profile("sleep", "sleep"))
            await until(pilot, lambda: names(app.home) == [run] and "● 1 live" in shown(app.screen))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, RunScreen) and not app.feed.frame.is_empty)
            assert isinstance(app.feed, LiveFeed)
            assert "running" in shown(app.screen)
            await pilot.press("q")
            await until(pilot, lambda: app.screen is app.home)
            await pilot.press("s")
            await until(pilot, lambda: isinstance(app.screen, Question))
            assert run in shown(app.screen)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.home)
            assert app.machine.frame.runs[0].state == "running"
            await pilot.press("s", "s")
            await until(pilot, lambda: app.machine.frame.runs[0].verdict == "stopped", seconds=30)
            await until(pilot, lambda: "■ stopped" in shown(app.screen))

    asyncio.run(look())


def test_who_only_looks_is_not_offered_an_end(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path, ["sigkill"]), rights=Rights()) as (app, pilot):
            assert "stop" not in shown(app.screen).split("\n")[-1]
            await pilot.press("s")
            assert app.screen is app.home

    asyncio.run(look())


def test_a_run_that_is_removed_leaves_the_list(tmp_path: Path) -> None:
    root = state_root(tmp_path)

    async def look() -> None:
        async with start_screen(root) as (app, pilot):
            shutil.rmtree(root / "runs" / "teardown")
            await until(pilot, lambda: names(app.home) == ["one-gpu", "sigkill", "normal"])

    asyncio.run(look())


def test_help_names_every_key_of_it(tmp_path: Path) -> None:
    async def look() -> None:
        async with start_screen(state_root(tmp_path, ["sigkill"]), size=(120, 60)) as (app, pilot):
            await pilot.press("question_mark")
            await until(pilot, lambda: isinstance(app.screen, HelpScreen))
            text = shown(app.screen)
            for words in ("Enter", "Space", "overlay", "look again", "next run"):
                assert words in text

    asyncio.run(look())
