"""Runs laid over each other: a line each, the same colours everywhere, what differs, and feeds of any kind."""

from __future__ import annotations

import asyncio
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.machine import RUNS, shown, until
from textual.app import App

from grpotui.tui.border import legend
from grpotui.tui.chart_parts import Chart, Line, Look
from grpotui.tui.feed.log import LogFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.tui.feed.settings import differing_settings
from grpotui.tui.panels.overlay_chart import OverlayChart
from grpotui.tui.plot import Plotter
from grpotui.tui.screens.overlay import OverlayScreen
from grpotui.tui.series import Series
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.file_source import FileSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.screen import Screen

    from grpotui.tui.feed.feed import Feed

LOG = Path(__file__).parent.parent / "data" / "logs" / "verl-0.5.0-two-h200.log"


def replays(*names: str) -> list[Feed]:
    return [ReplayFeed(RunDirectory(str(RUNS / name)), None) for name in names]


class Compared(App[None]):
    """As `compare` will be: the overlay is all there is."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        super().__init__()
        self.feeds = list(feeds)

    def get_default_screen(self) -> Screen[None]:
        return OverlayScreen(self.feeds)


async def read(app: Compared, pilot: object) -> OverlayScreen:
    """All of it is read and drawn."""
    screen = app.screen
    assert isinstance(screen, OverlayScreen)
    await until(pilot, lambda: all(feed.frame.rows or feed.error for feed in app.feeds))  # type: ignore[arg-type]
    await until(pilot, lambda: "reading" not in shown(screen))  # type: ignore[arg-type]
    return screen


def zoomed(screen: OverlayScreen) -> int | None:
    return None if screen.zoomed is None else screen.charts.index(screen.zoomed)


def test_each_chart_has_a_line_of_every_run_and_the_table_their_ends() -> None:
    async def look() -> None:
        app = Compared(replays("normal", "sigkill", "one-gpu"))
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await read(app, pilot)
            reward = screen.charts[0]
            await until(pilot, lambda: len(reward._points) == 3 and all(len(p.y) for p in reward._points))
            assert [len(points.y) for points in reward._points] == [10, 3, 10]
            text = shown(screen)
            assert "failed: rank 1 killed by SIGKILL" in text
            assert text.count("passed: every rank exited 0") == 2
            assert "3/10" in text
            row = next(line for line in text.split("\n") if "launch.nproc" in line)
            assert row.split("launch.nproc")[1].split()[1::2][:3] == ["2", "2", "1"]

    asyncio.run(look())


def test_a_metric_that_a_run_does_not_print_is_said_by_its_number() -> None:
    async def look() -> None:
        app = Compared([*replays("normal"), LogFeed(FileSource(str(LOG)), None)])
        async with app.run_test(size=(200, 60)) as pilot:
            screen = await read(app, pilot)
            await until(pilot, lambda: "training complete; exits: not in this log" in shown(screen))
            assert not any("launch." in line for line in shown(screen).split("\n"))  # a log has no profile
            chart = OverlayChart(("advantage/max",), ["one", "other"])
            chart.update(app.feeds, [feed.names() for feed in app.feeds], reading=False)
            assert chart._chart.note == "not in 1"
            assert [line.count for line in chart._chart.lines] == [0, 40]

    asyncio.run(look())


def test_keys_are_those_of_page_1() -> None:
    async def look() -> None:
        app = Compared(replays("normal", "sigkill"))
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await read(app, pilot)
            await pilot.press("z")
            assert zoomed(screen) == 0
            await pilot.press("l")
            assert zoomed(screen) == 1
            await pilot.press("escape")
            assert zoomed(screen) is None
            await pilot.press("x")
            assert {chart.axis for chart in screen.charts} == {"time"}
            await until(pilot, lambda: "by time" in shown(screen))
            await pilot.press("plus")
            assert {chart.smoothing for chart in screen.charts} == {0.5}
            await pilot.press("y")
            assert [chart.log_y for chart in screen.charts].count(True) == 1
            await until(pilot, lambda: screen.chosen._whole is not None)
            await pilot.press("right_parenthesis")
            await until(pilot, lambda: screen.charts[-1].window is not None)
            assert len({chart.window for chart in screen.charts}) == 1
            await pilot.press("0")
            await until(pilot, lambda: {chart.window for chart in screen.charts} == {None})

    asyncio.run(look())


@pytest.mark.parametrize(("size", "runs"), [((80, 24), 2), ((80, 24), 6), ((120, 40), 6), ((200, 60), 4)])
def test_every_size_has_six_charts_and_a_row_a_run(size: tuple[int, int], runs: int) -> None:
    names = ("normal", "sigkill", "one-gpu", "teardown", "orphan", "one-gpu-orphan")[:runs]

    async def look() -> None:
        app = Compared(replays(*names))
        async with app.run_test(size=size) as pilot:
            text = shown(await read(app, pilot))
            for word in ("reward/mean", "kl/", "entropy", "clip_ratio", "length/mean", "grad_norm", *names):
                assert word in text, word
            assert "✖" in text

    asyncio.run(look())


def test_a_run_without_a_point_keeps_its_glyph_and_the_crosshair_reaches_all_of_them() -> None:
    def line(name: str, count: int) -> Line:
        return Line(name, Series(array("d", range(count)), array("d", range(count))), count)

    plotter = Plotter()
    chart = Chart("m", (line("none", 0), line("short", 4), line("long", 10)))
    rows = ["".join(text for text, _ in row) for row in plotter.draw(chart, Look(), 60, 14)]
    assert "● none -" in rows[1]
    assert "■ short 3" in rows[1]
    assert "◆ long 9" in rows[2]
    layout = plotter.layout
    assert layout is not None
    assert layout.x_of(layout.filled()[-1]) == 9


def test_a_value_loses_digits_before_it_is_cut() -> None:
    names = [("run", ("●", "line0"), value) for value in ("0.2443", "107.4", "nan")]
    (row,) = legend(names, 24, 1, "…")
    assert [text for text, _ in row if text.strip() and text.strip() not in "●r…"] == [".244", "107", "nan"]


def test_feeds_end_with_the_screen() -> None:
    async def look() -> None:
        feeds = replays("normal", "sigkill")
        app = Compared([])
        async with app.run_test(size=(120, 40)) as pilot:
            await app.push_screen(OverlayScreen(feeds))
            await until(pilot, lambda: all(feed.frame.rows for feed in feeds))
            await app.pop_screen()
            await until(pilot, lambda: not any(feed._thread and feed._thread.is_alive() for feed in feeds))

    asyncio.run(look())


def test_options_of_the_command_are_compared_by_name() -> None:
    found = dict(differing_settings(replays("normal", "sigkill")))
    assert found["--fault"] == ["none", "kill"]
    assert "launch.python" not in found
    assert differing_settings(replays("normal", "normal")) == []
