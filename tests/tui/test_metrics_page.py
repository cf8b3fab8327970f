"""Page 4: every metric in its order, what a filter leaves, the chart, pins; and only what is seen is counted."""

from __future__ import annotations

import json
import time
from math import nan
from typing import TYPE_CHECKING, Any

import pytest
from support.hostile import HOSTILE, harmless
from support.screens import lines_of, on_page, text_of, until
from support.still_feed import StillFeed

from grpotui.tui import cells
from grpotui.tui.panels.metrics import BigChart, Metrics
from grpotui.tui.pins import Pins

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from textual.pilot import Pilot

    from grpotui.tui.app import Dashboard
    from grpotui_supervisor.source.curves import Curve

    Use = Callable[[Metrics, Dashboard, Pilot[None]], Coroutine[None, None, None]]


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state root of the test's own."""
    monkeypatch.setenv("GRPOTUI_HOME", str(tmp_path))
    return tmp_path


def feed(**curves: list[float]) -> StillFeed:
    """`a__b` stands for `a/b`; `raw__x` for the framework's own key `x`."""
    found = StillFeed()
    for name, values in curves.items():
        shown = name.replace("__", "/")
        found.curves[f"raw:{shown.removeprefix('raw/')}" if shown.startswith("raw/") else shown] = values
    return found


def three() -> StillFeed:
    found = feed(reward__mean=[0.1, 0.2, 0.4], entropy=[3.0, 2.0, 1.0], raw__actor__x=[5.0, 5.0, 5.0])
    found.printed_as = {"reward/mean": "critic/rewards/mean"}
    found.doubtful = {"entropy": "of padding too"}
    return found


def on_metrics(source: StillFeed, use: Use, size: tuple[int, int] = (120, 40)) -> None:
    async def go(page: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        await settled(page, pilot)
        await use(page, app, pilot)

    on_page(Metrics, source, go, size)


async def settled(page: Metrics, pilot: Pilot[None]) -> None:
    await pilot.pause()
    await until(pilot, lambda: not page.is_counting)
    await pilot.pause()


def names(page: Metrics) -> list[str]:
    return [one.shown for one in page.shown]


def line_with(app: Dashboard, word: str) -> str:
    return next(line for line in lines_of(app)[3:-2] if word in line)


def test_every_metric_is_there_with_its_numbers() -> None:
    async def use(page: Metrics, app: Dashboard, _: Pilot[None]) -> None:
        assert names(page) == ["entropy", "reward/mean", "actor/x"]
        assert line_with(app, "reward/mean").split()[1:7] == ["reward/mean", "0.4", "0.1", "0.4", "0.2333", "↑"]
        assert "critic/rewards/mean" in line_with(app, "reward/mean")
        assert line_with(app, "entropy").split()[1:3] == ["entropy", "▲"]
        assert line_with(app, "actor/x").split()[2:7] == ["5", "5", "5", "5", "→"]
        assert "computed from several keys  ▲ unreliable: of padding too" in text_of(app)

    on_metrics(three(), use)


def test_what_comes_is_counted_and_a_curve_told_anew_is_counted_anew() -> None:
    source = three()

    async def use(page: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        source.curves["entropy"] = [3.0, 2.0, 1.0, nan]
        source.set(metrics={"entropy": "nan"})
        await settled(page, pilot)
        assert line_with(app, "entropy").split()[3:6] == ["nan", "1", "3"]
        assert "✖ 1 of 4 not finite" in text_of(app)
        source.version, source.curves["entropy"] = 2, [7.0]
        source.set(metrics={"entropy": 7.0})
        await settled(page, pilot)
        assert line_with(app, "entropy").split()[3:6] == ["7", "7", "7"]
        source.curves["newcomer"] = [1.0]
        source.set()
        await settled(page, pilot)
        assert names(page) == ["entropy", "newcomer", "reward/mean", "actor/x"]

    on_metrics(source, use)


def test_only_rows_that_are_seen_are_counted() -> None:
    source = feed(**{f"m{number:03}": [1.0, 2.0] for number in range(500)})

    async def use(page: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        counted = {name for name in source.asked if name.startswith("m")}
        assert counted == {one.name for one in page.shown[: page.table.seen.stop]}
        assert len(counted) < 40
        await pilot.press("G")
        await settled(page, pilot)
        assert page.chosen is not None
        assert page.chosen.name == "m499"
        assert line_with(app, "m499").split()[2] == "2"
        assert page.shown[250].tally.count == 0
        await pilot.press("s")
        await settled(page, pilot)
        assert page.shown[250].tally.count == 2

    on_metrics(source, use)


def test_the_order_by_a_column_and_back() -> None:
    source = feed(b=[1.0, 30.0], a=[5.0, 2.0], c=[nan], d=[-8.0, 9.0])

    async def use(page: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("down")
        assert page.chosen is not None
        assert page.chosen.name == "b"
        await pilot.press("s")
        await settled(page, pilot)
        assert names(page) == ["b", "d", "a", "c"]
        assert page.chosen.name == "b"
        assert "last ↓" in text_of(app)
        await pilot.press("R")
        await settled(page, pilot)
        assert names(page) == ["a", "d", "b", "c"]
        at = lines_of(app)[3].index("min")
        await pilot.click(type(page.table), offset=(at, 1))
        await settled(page, pilot)
        assert names(page) == ["a", "b", "d", "c"]
        await pilot.click(type(page.table), offset=(3, 1))
        await settled(page, pilot)
        assert names(page) == ["a", "b", "c", "d"]

    on_metrics(source, use)


def test_the_filter() -> None:
    async def use(page: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"REW")
        await settled(page, pilot)
        assert names(page) == ["reward/mean"]
        await pilot.press("enter", "n")
        assert page.has_focus
        assert "/REW  1 of 3" in text_of(app)
        await pilot.press("slash", "home", "exclamation_mark", "enter")
        await settled(page, pilot)
        assert names(page) == ["entropy", "actor/x"]
        await pilot.press("N")
        assert page.table.chosen == 1
        await pilot.press("n")
        assert page.table.chosen == 0
        await pilot.press("slash", "end", "z", "z", "enter")
        assert len(page.shown) == 3
        await pilot.press("slash", "home", "delete", "enter")
        await settled(page, pilot)
        assert "No metric matches 'REWzz': Esc takes the filter away." in text_of(app)
        await pilot.press("escape")
        await settled(page, pilot)
        assert len(page.shown) == 3

    on_metrics(three(), use)


def test_letters_of_a_filter_are_no_keys() -> None:
    async def use(page: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("slash", "q", "1", "p", "question_mark")
        assert app.is_running
        assert page.display
        await pilot.press("escape")
        assert page.has_focus
        assert len(page.shown) == 3

    on_metrics(three(), use)


def test_the_chart_of_a_metric_and_the_next() -> None:
    async def use(page: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("down", "enter")
        await pilot.pause()
        chart = page.query_one(BigChart)
        assert (chart.display, page.table.display, chart.metric) == (True, False, "reward/mean")
        assert list(chart.points.y) == [0.1, 0.2, 0.4]
        await pilot.press("down")
        await pilot.pause()
        assert chart.metric == "raw:actor/x"
        assert "actor/x" in lines_of(app)[2]
        assert "raw:" not in text_of(app)
        await pilot.press("escape")
        assert (chart.display, page.table.display, page.has_focus) == (False, True, True)
        await pilot.press("enter", "enter")
        assert not chart.display

    on_metrics(three(), use)


def test_a_pin_is_kept_for_the_framework(root: Path) -> None:
    async def use(_: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("G", "p")
        await pilot.pause()
        assert "◆" in line_with(app, "actor/x")
        assert Pins(str(root)).pinned("trl") == ("raw:actor/x",)
        await pilot.press("p")
        await pilot.pause()
        assert "◆" not in line_with(app, "actor/x")
        assert Pins(str(root)).pinned("trl") == ()

    on_metrics(three(), use)


def test_a_bad_file_of_pins_is_said(root: Path) -> None:
    (root / "pins.json").write_text(json.dumps({"schema": 99}))

    async def use(_: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: any("pins.json is not used" in one.message for one in app._notifications))

    on_metrics(three(), use)


def test_name_and_value_are_copied() -> None:
    async def use(_: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("c")
        assert app.clipboard == "entropy 1"

    on_metrics(three(), use)


def test_leaving_does_not_wait_for_all_of_the_counting() -> None:
    source = feed(**{f"m{number:03}": [1.0] for number in range(500)})
    known = source.curve

    def slow(*words: Any) -> Curve:
        time.sleep(0.02)
        return known(*words)

    async def use(page: Metrics, _: Dashboard, pilot: Pilot[None]) -> None:
        source.curve = slow  # type: ignore[method-assign, assignment]
        await pilot.press("s")
        await pilot.pause()
        assert page.is_counting

    on_metrics(source, use)
    assert sum(1 for name in source.asked if name.startswith("m")) < 300


def test_no_metric_yet_is_said() -> None:
    async def use(page: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        assert "No metric was printed yet." in text_of(app)
        await pilot.press("enter", "p", "c", "s", "n", "G", "x", "y", "plus")
        assert page.chosen is None

    on_metrics(StillFeed(), use)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
def test_hostile_and_wide_names(size: tuple[int, int]) -> None:
    names = [text.decode("utf-8", "surrogateescape") for text in HOSTILE.values()] + ["奖励/均值", "😀/😀", "награда"]
    source = StillFeed()
    source.curves = {name: [0.5, 0.25] for name in (*names, *(f"raw:{name}" for name in names))}

    async def use(_: Metrics, app: Dashboard, pilot: Pilot[None]) -> None:
        for keys in ((), ("G",), ("enter",), ("k", "k", "escape", "c")):
            await pilot.press(*keys)
            await pilot.pause()
            assert harmless(text_of(app))
            assert {cells.width(line) for line in lines_of(app)} == {size[0]}
        assert harmless(app.clipboard)

    on_metrics(source, use, size)
