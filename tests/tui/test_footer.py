"""The last line: every page by its key, and as many of the page's own keys as there is room for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.screens import lines_of, opened, replay, turned_to

from grpotui.tui.screens.pages import PAGES

RUN = Path(__file__).parents[1] / "data" / "runs" / "h200" / "sigkill"


def footers(size: tuple[int, int]) -> list[str]:
    """The last line on each page."""

    async def look() -> list[str]:
        found: list[str] = []
        async with opened(replay(RUN), size) as (app, pilot):
            for entry in PAGES:
                await turned_to(entry.load(), app, pilot)
                found.append(lines_of(app)[-1])
        return found

    return asyncio.run(look())


def test_wide_terminals_have_the_names_of_all_pages() -> None:
    for line in footers((200, 60)):
        for entry in PAGES:
            assert f" {entry.key} {entry.name} " in line
        assert line.rstrip().endswith("q quit")


@pytest.mark.parametrize("width", [80, 100, 120])
def test_pages_are_cut_to_their_keys_before_a_key_of_the_page_in_front_is_dropped(width: int) -> None:
    lines = footers((width, 24))
    for line, front in zip(lines, PAGES, strict=True):
        assert len(line) <= width
        assert f" {front.key} {front.name[:4]}" in line
        assert all(f" {entry.key} " in line for entry in PAGES)
        assert "? help" in line
        assert line.rstrip().endswith("q quit")

    assert "z zoom" in lines[0]
