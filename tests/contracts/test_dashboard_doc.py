"""docs/dashboard.md has every key that works, in the words of the help; the pictures of the README exist."""

from __future__ import annotations

import os
import re
from pathlib import Path

from textual.binding import Binding

from grpotui.tui.app import Dashboard
from grpotui.tui.screens.dialogs import key_of
from grpotui.tui.screens.home import HomeScreen
from grpotui.tui.screens.overlay import OverlayScreen
from grpotui.tui.screens.pages import PAGES
from grpotui.tui.screens.run import RunScreen

ROOT = Path(__file__).parent.parent.parent
DOC = ROOT / "docs" / "dashboard.md"
BEGIN = re.compile(r"(<!-- keys: .*? -->\n).*?(<!-- end of keys -->)", re.DOTALL)
LARGEST = 150_000


def bindings(kind: type) -> list[Binding]:
    return [one for one in kind.__dict__.get("BINDINGS", ()) if isinstance(one, Binding)]


def table() -> str:
    """As it is to be in the document."""
    groups = [("everywhere", bindings(Dashboard)), ("start screen", bindings(HomeScreen))]
    groups += [("a run", bindings(RunScreen)), ("overlay", bindings(OverlayScreen))]
    groups += [(f"page {page.key}, {page.name}", bindings(page.load())) for page in PAGES]
    lines = ["| where | key | what it does |", "|---|---|---|"]
    for name, found in groups:
        lines += [f"| {name} | `{key_of(one).replace('|', chr(92) + '|')}` | {one.description} |" for one in found]
    return "\n".join(lines) + "\n"


def test_every_key_is_in_the_document() -> None:
    text = DOC.read_text(encoding="utf-8")
    wanted = BEGIN.sub(lambda match: f"{match[1]}\n{table()}\n{match[2]}", text)
    if os.environ.get("GRPOTUI_WRITE_DOCS"):
        DOC.write_text(wanted, encoding="utf-8")
    assert BEGIN.search(text) is not None
    assert wanted == DOC.read_text(encoding="utf-8"), "GRPOTUI_WRITE_DOCS=1 writes it"


def test_pictures_of_the_readme_are_there_small_and_have_a_text() -> None:
    shown = re.findall(r"!\[(.*?)\]\((.*?)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown
    for words, path in shown:
        assert len(words) > 30, path
        picture = ROOT / path
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert picture.stat().st_size <= LARGEST
