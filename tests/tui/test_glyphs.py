"""Which characters are used where, and what stands in for those that are not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from grpotui.tui import likes
from grpotui.tui.glyphs import ASCII, CONSOLE, SETS, Glyphs, chosen

CP437 = bytes(range(0x80, 0x100)).decode("cp437") + "☺☻♥♦♣♠•◘○◙♂♀♪♫☼►◄↕‼¶§▬↨↑↓→←∟↔▲▼"


def texts(glyphs: Glyphs) -> str:
    found = [getattr(glyphs, name) for name in Glyphs.__slots__ if name not in ("name", "across", "up")]
    return "".join(text for value in found for text in value)


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "braille"),
        ({"LANG": "en_US.UTF-8", "TERM": "xterm-256color"}, "braille"),
        ({"LANG": "C.utf8"}, "braille"),
        ({"TERM": "linux"}, "console"),
        ({"TERM": "linux", "LANG": "de_DE.ISO-8859-1"}, "ascii"),
        ({"LANG": "zh_CN.GBK"}, "ascii"),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, "ascii"),
        ({"LC_ALL": "", "LANG": "en_US.UTF-8"}, "braille"),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, "braille"),
        ({"GRPOTUI_GLYPHS": "Block ", "TERM": "linux"}, "block"),
        ({"GRPOTUI_GLYPHS": "emoji"}, "braille"),
    ],
)
def test_the_set_is_the_one_asked_for_or_what_the_terminal_can_show(environ: dict[str, str], name: str) -> None:
    assert chosen(environ) == name


@pytest.mark.parametrize("glyphs", SETS.values(), ids=list(SETS))
def test_every_glyph_takes_one_cell(glyphs: Glyphs) -> None:
    assert all(cell_len(character) == 1 for character in texts(glyphs))
    assert len(glyphs.line) == len(glyphs.fill) == 2 ** (glyphs.across * glyphs.up)
    assert len(set(glyphs.names)) == len(glyphs.names)
    marks = [glyphs.validation, glyphs.checkpoint, glyphs.finding, glyphs.death, glyphs.restart, glyphs.lost]
    assert len(set(marks)) == len(marks)


def test_the_plainest_sets_have_nothing_that_their_terminals_lack() -> None:
    assert texts(ASCII).isascii()
    assert not [c for c in texts(CONSOLE) if not c.isascii() and c not in CP437]


@given(st.text(), st.sampled_from(tuple(SETS)))
def test_what_stands_in_takes_as_many_cells(text: str, name: str) -> None:
    found = likes.shown(text, name)
    assert cell_len(found) == cell_len(text)
    assert name != "ascii" or found.isascii()
    assert name in likes.TABLES or found == text


def test_the_symbols_of_the_screens_have_likes() -> None:
    assert likes.shown("╭ ✖ rank 2 … ●▲ ↺ ─│ 71 → 72 ╯", "ascii") == "+ x rank 2 ~ *^ < -| 71 > 72 +"
    console = likes.shown("╭ ✖ rank 2 … ●▲ ↺ ─│ ╯", "console")
    assert not [c for c in console if not c.isascii() and c not in CP437]
    assert likes.shown("学习率", "ascii") == "??????"
    for drawn_as_one in ("❤\ufe0f", "👩\u200d🚀", "🇩🇪", "e\u0301"):
        assert cell_len(likes.shown(drawn_as_one, "ascii")) == cell_len(drawn_as_one)
