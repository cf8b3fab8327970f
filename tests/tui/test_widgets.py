"""The widgets that draw: keys, wheel and mouse in, messages and rows out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.still_feed import StillFeed
from textual import events
from textual.app import App
from textual.widgets import Static
from tui.pictures import line

from grpotui.tui import glyphs
from grpotui.tui.app import Dashboard
from grpotui.tui.bars import Step
from grpotui.tui.chart_parts import Chart
from grpotui.tui.memory import Memory
from grpotui.tui.widgets.chart import LineChart
from grpotui.tui.widgets.likes_filter import LikesFilter
from grpotui.tui.widgets.meter import MemoryMeters
from grpotui.tui.widgets.stacked import StackedBars

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from textual.app import ComposeResult
    from textual.filter import LineFilter
    from textual.geometry import Region
    from textual.message import Message
    from textual.pilot import Pilot
    from textual.widget import Widget


class Frame(App[None]):
    """Some widgets, and what they told."""

    def __init__(self, *widgets: Widget, filters: Sequence[LineFilter] = ()) -> None:
        super().__init__()
        self.widgets, self.filters = widgets, filters
        self.told: list[Message] = []

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self.filters]

    def compose(self) -> ComposeResult:
        yield from self.widgets

    def on_line_chart_pointed(self, message: LineChart.Pointed) -> None:
        self.told.append(message)

    def on_line_chart_zoomed(self, message: LineChart.Zoomed) -> None:
        self.told.append(message)

    def lines(self) -> list[str]:
        """What is on the screen."""
        width = self.screen.size.width
        return [
            "".join(segment.text for segment in self.screen._compositor.render_strips()[row]).ljust(width)
            for row in range(self.screen.size.height)
        ]


def run(app: Frame, test: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (60, 12)) -> None:
    async def inner() -> None:
        async with app.run_test(size=size) as pilot:
            await test(pilot)

    asyncio.run(inner())


def pointed(chart: LineChart) -> float | None:
    return chart.crosshair


def window(chart: LineChart) -> tuple[float, float] | None:
    return chart.window


def shown(count: int = 100) -> Chart:
    return Chart("reward/mean", (line([step / 10 for step in range(1, count + 1)]),))


def a_chart(count: int = 100) -> LineChart:
    chart = LineChart()
    chart.show(shown(count))
    return chart


def test_arrow_keys_move_a_crosshair_and_tell_where_it_is() -> None:
    chart = a_chart()
    app = Frame(chart)

    async def test(pilot: Pilot[None]) -> None:
        chart.focus()
        await pilot.press("left")
        assert chart.crosshair == 100
        await pilot.press("home")
        assert chart.crosshair == 1
        await pilot.press("right")
        assert chart.crosshair is not None
        assert 1 < chart.crosshair < 5
        assert f"step {chart.crosshair:.0f}  {chart.crosshair / 10:g} " in app.lines()[-1]
        await pilot.press("escape")
        assert pointed(chart) is None
        told = [m.x for m in app.told if isinstance(m, LineChart.Pointed)]
        assert (told[:2], told[-1]) == ([100, 1], None)

    run(app, test)


def test_the_mouse_points_at_the_closest_point() -> None:
    chart = a_chart()
    app = Frame(chart)

    async def test(pilot: Pilot[None]) -> None:
        await pilot.hover(chart, offset=(33, 5))
        assert chart.crosshair is not None
        assert abs(chart.crosshair - 50) < 3

    run(app, test)


def wheel(chart: LineChart, x: int, *, nearer: bool, shift: bool = False) -> None:
    kind = events.MouseScrollUp if nearer else events.MouseScrollDown
    chart.post_message(kind(chart, x, 5, 0, -1 if nearer else 1, 0, shift, False, False))


def test_the_wheel_zooms_around_the_mouse_and_0_shows_all_of_it() -> None:
    chart = a_chart(1000)
    app = Frame(chart)

    async def test(pilot: Pilot[None]) -> None:
        for _ in range(4):
            wheel(chart, 33, nearer=True)
        await pilot.pause()
        assert chart.window is not None
        low, high = chart.window
        assert high - low < 250
        assert low < 500 < high
        wheel(chart, 33, nearer=True, shift=True)
        await pilot.pause()
        assert chart.window is not None
        assert chart.window[0] < low
        assert chart.window[1] - chart.window[0] == pytest.approx(high - low)
        chart.focus()
        await pilot.press("0")
        assert window(chart) is None
        assert [m.window is None for m in app.told if isinstance(m, LineChart.Zoomed)] == [False] * 5 + [True]

    run(app, test)


def test_parentheses_zoom_around_the_crosshair_and_shifted_arrows_move_along() -> None:
    chart = a_chart(1000)
    app = Frame(chart)

    async def test(pilot: Pilot[None]) -> None:
        chart.focus()
        await pilot.press("home", "right_parenthesis", "right_parenthesis")
        assert chart.window is not None
        assert chart.window[0] < 12
        assert chart.window[1] < 500
        before = chart.window
        await pilot.press("shift+right")
        assert chart.window[0] > before[0]
        await pilot.press("left_parenthesis", "left_parenthesis", "left_parenthesis")
        assert window(chart) is None

    run(app, test)


def test_a_window_at_the_end_follows_new_points_and_the_wheel_scrolls_the_page_where_all_is_shown() -> None:
    chart = a_chart(1000)
    app = Frame(chart)

    async def test(pilot: Pilot[None]) -> None:
        chart.focus()
        await pilot.press("right_parenthesis")
        assert chart.window is not None
        assert chart.window[1] == 1000
        chart.show(shown(1100))
        await pilot.pause()
        assert chart.window[1] == 1100
        chart.axis = "time"
        assert window(chart) is None
        event = events.MouseScrollDown(chart, 30, 5, 0, 1, 0, False, False, False)
        chart.on_mouse_scroll_down(event)
        assert not event._stop_propagation

    run(app, test)


def test_only_the_rows_that_changed_are_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    chart = a_chart()
    app = Frame(chart)

    async def test(pilot: Pilot[None]) -> None:
        await pilot.pause()
        regions: list[Region] = []

        def refresh(*found: Region, **_: object) -> LineChart:
            regions.extend(found)
            return chart

        monkeypatch.setattr(chart, "refresh", refresh)
        chart.show(shown())
        assert regions == []
        chart.show(Chart("reward/mean", shown().lines, note="of 580"))
        assert [region.y for region in regions] == [0]

    run(app, test)


def test_the_characters_are_those_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRPOTUI_GLYPHS", "ascii")
    bars, meters = StackedBars("time"), MemoryMeters("GPU memory")
    bars.show([Step(1, {"generate": 3.0, "update": 1.0})])
    meters.show([Memory("0", 80, 0, 40)])
    app = Frame(a_chart(), bars, meters)

    async def test(pilot: Pilot[None]) -> None:
        await pilot.pause()
        text = "".join(app.lines())
        assert text.isascii()
        assert "reward/mean" in text
        assert "generate" in text

    run(app, test, (80, 30))


def test_what_other_widgets_draw_is_replaced_too() -> None:
    framed = Static("✖ failed … 学习率")
    framed.styles.border = ("round", "red")
    app = Frame(framed, filters=[LikesFilter("ascii")])

    async def test(pilot: Pilot[None]) -> None:
        await pilot.pause()
        text = "\n".join(app.lines())
        assert text.isascii()
        assert "x failed ~ ??????" in text
        assert "+---" in text

    run(app, test)


def test_another_set_and_another_theme_draw_anew() -> None:
    chart = a_chart()
    app = Frame(chart)

    async def test(pilot: Pilot[None]) -> None:
        await pilot.pause()
        assert any("⠔" <= character <= "⣿" for character in "".join(app.lines()))
        chart.glyph_set = "ascii"
        await pilot.pause()
        assert "".join(app.lines()).isascii()
        before = chart._strips[1]
        app.theme = "textual-light"
        await pilot.pause()
        assert chart._strips[1] != before

    run(app, test)


def test_without_colour_the_parts_of_a_bar_are_told_apart_by_their_glyphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    bars = StackedBars("time")
    bars.show([Step(n, {"generate": 3.0, "update": 2.0}) for n in range(30)])
    app = Frame(bars)

    async def test(pilot: Pilot[None]) -> None:
        await pilot.pause()
        text = "".join(app.lines())
        assert "█" in text
        assert glyphs.uncoloured(glyphs.BRAILLE).bars[3] in text

    run(app, test)


@pytest.mark.parametrize("size", [(1, 1), (12, 3), (30, 4), (200, 60)])
def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    bars, meters = StackedBars("time"), MemoryMeters("GPU memory")
    bars.show([Step(1, {"generate": 3.0})])
    meters.show([Memory("0", 80, 0, 40)])
    app = Frame(a_chart(), bars, meters)

    async def test(pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(40, 9)
        await pilot.pause()

    run(app, test, size)


@pytest.mark.parametrize("page", ["1", "2", "3", "8"])
def test_a_whole_dashboard_is_in_ascii_where_the_locale_is(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("GRPOTUI_GLYPHS", raising=False)
    app = Dashboard(StillFeed())

    async def test() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(page)
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            text = "".join(segment.text for strip in strips for segment in strip)
            assert text.isascii(), [c for c in text if not c.isascii()][:5]
            assert "+--" in text

    asyncio.run(test())
