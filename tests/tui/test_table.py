"""The table: columns by the room, rows by need, a choice that stays in sight."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.hostile import HOSTILE, harmless
from textual.app import App, ComposeResult

from grpotui.tui import cells
from grpotui.tui.panels.table import Column, Table, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

COLUMNS = (
    Column("name", most=20),
    Column("first", 2, right=True),
    Column("second", 1, right=True),
    Column("rest", 3, grows=True, least=10, most=400),
)


class Shown(App[None]):
    """One table."""

    def __init__(self, count: int, texts: Callable[[int], tuple[str, ...]]) -> None:
        super().__init__()
        self.table = Table("things", COLUMNS)
        self.asked: list[int] = []
        self.told: list[object] = []
        self._count, self._texts = count, texts

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.fill(self._count)

    def fill(self, count: int) -> None:
        def row(at: int) -> list[cells.Cell]:  # type: ignore[name-defined]
            self.asked.append(at)
            return [(text, "title") for text in self._texts(at)]

        self.table.fill(count, row, ["there is nothing here, and this is why"])

    def on_table_chosen(self, event: Table.Chosen) -> None:
        self.told.append(event.at)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.told.append(("opened", event.at))

    def on_table_headed(self, event: Table.Headed) -> None:
        self.told.append(("head", event.column))

    @property
    def lines(self) -> list[str]:
        return [strip.text for strip in self.screen._compositor.render_strips()]


def numbered(at: int) -> tuple[str, ...]:
    return f"row {at}", str(at * 10), "x", "and so on"


def used(
    look: Callable[[Shown, Pilot[None]], object], count: int = 1000, size: tuple[int, int] = (60, 12),
    texts: Callable[[int], tuple[str, ...]] = numbered,
) -> Shown:  # fmt: skip
    async def go() -> Shown:
        app = Shown(count, texts)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            found = look(app, pilot)
            if asyncio.iscoroutine(found):
                await found
            await pilot.pause()
        return app

    return asyncio.run(go())


def test_only_rows_that_are_seen_are_made() -> None:
    lines: list[str] = []
    app = used(lambda app, _: lines.extend(app.lines))
    assert set(app.asked) == set(range(9))
    assert "1-9 of 1000" in lines[0]
    assert lines[1].split() == ["│", "name", "first", "second", "rest", "│"]
    assert lines[2].split()[1:4] == ["row", "0", "0"]


def test_the_chosen_row_stays_in_sight() -> None:
    def look(app: Shown, _: Pilot[None]) -> None:
        table, seen = app.table, []
        for way, by in ((table.move, 1), (table.page, 1), (table.end, 1), (table.move, 1), (table.page, -1),
                        (table.end, -1), (table.move, -1)):  # fmt: skip
            way(by)
            seen.append((table.chosen, table.chosen in table.seen))
        assert seen == [(1, True), (9, True), (999, True), (999, True), (991, True), (0, True), (0, True)]
        table.end(1)
        app.fill(5)
        assert (table.chosen, table.seen) == (4, range(5))
        app.fill(0)
        assert table.chosen == 0

    used(look)


@pytest.mark.parametrize(("wide", "heads"), [
    (60, ["name", "first", "second", "rest"]), (34, ["name", "first", "second"]), (22, ["name", "second"]),
    (15, ["name"]), (7, ["nam"]),
])  # fmt: skip
def test_columns_go_where_there_is_no_room(wide: int, heads: list[str]) -> None:
    lines: list[str] = []
    used(lambda app, _: lines.extend(app.lines), 3, (wide, 8))
    assert [head.removesuffix("…")[:6] for head in lines[1].strip("│ ").split()] == [head[:6] for head in heads]
    assert {cells.width(line) for line in lines} == {wide}


def test_wide_characters_keep_the_columns_aligned() -> None:
    names = ["奖励/均值", "😀😀", "ранг", "plain", "a" * 90, "长" * 60]
    lines: list[str] = []
    used(lambda app, _: lines.extend(app.lines), len(names), (60, 12), lambda at: (names[at], "12345", "x", "end"))
    assert {cells.width(line) for line in lines} == {60}
    places = {cells.width(line[: line.index("12345")]) for line in lines[2:8]}
    assert len(places) == 1


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_inert(kind: str) -> None:
    text = HOSTILE[kind].decode("utf-8", "surrogateescape")
    lines: list[str] = []
    used(lambda app, _: lines.extend(app.lines), 2, (60, 8), lambda _: (text, text, text, text))
    assert harmless("\n".join(lines))
    assert {cells.width(line) for line in lines} == {60}


def test_the_mouse() -> None:
    async def look(app: Shown, pilot: Pilot[None]) -> None:
        await pilot.click(Table, offset=(5, 4))
        await pilot.click(Table, offset=(5, 4))
        await pilot.click(Table, offset=(app.lines[1].index("first"), 1))
        app.table.on_mouse_scroll_down()
        await pilot.pause()
        assert app.table.seen.start == 3

    assert used(look).told == [2, ("opened", 2), ("head", 1), 3]


def test_why_there_is_nothing_is_said_in_full() -> None:
    lines: list[str] = []
    used(lambda app, _: lines.extend(app.lines), 0, (24, 8))
    assert " ".join(line.strip("│ ") for line in lines[1:4]).strip() == "there is nothing here, and this is why"


def test_long_words_are_broken() -> None:
    assert wrapped("ab cd efghijk", 4) == ["ab", "cd", "efgh", "ijk"]
    assert wrapped("", 4) == [""]
    assert wrapped("长长长", 4) == ["长长", "长"]
