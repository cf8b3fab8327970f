"""What others wrote is never obeyed by the terminal that the dashboard is drawn on, and columns stay columns."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import pytest
from support.hostile import HOSTILE
from support.screens import until, widths_of
from support.terminal import Terminal

from grpotui.tui.app import Dashboard, Rights
from grpotui.tui.feed.replay import ReplayFeed
from grpotui_supervisor.rundir import RunDirectory

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

PIECES = [piece for piece in HOSTILE.values() if b"\r" not in piece]
NAMES = ["你好世界", "Ранг отвечает", "🙂 emoji 🚀", "é combining", "\uff46\uff55\uff4c\uff4c", "日本語のログ"]
WRITE = """
import os, sys
pieces = [bytes.fromhex(word) for word in open(sys.argv[1]).read().split()]
line = b"%b\\nstep:%d - critic/rewards/mean:0.%d - actor/entropy:0.5 - a/%b:0.5\\n"
for step, piece in enumerate(pieces * 3, 1):
    os.write(1, line % (piece, step, step, piece[:200]))
os.write(1, b"y" * (1 << 20) + b"\\x1b[31mend of a long line\\x1b]52;c;ZXZpbA==\\x07\\n")
os.write(2, b" ".join(pieces[-6:-1]) + b"\\nTraceback: " + pieces[0] + b"\\n")
os._exit(3)
"""


def profile(home: Home, pieces: list[bytes]) -> str:
    file = home.path.with_name("pieces")
    file.write_text(" ".join(piece.hex() for piece in pieces))
    argv = json.dumps(["{grpotui_python}", "-I", "-S", "-c", WRITE, str(file)])
    return home.profile(
        f'name = "hostile"\nframework = "verl"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = {argv}\n'
        "leftover_grace_seconds = 0.3\n"
    )


def look_at_all(terminal: Terminal, seen: str) -> str:
    """Every page, the help and the way out; what the screen was."""
    terminal.wait_for(seen, seconds=30)
    shown = []
    for page in "12345678":
        terminal.press(page)
        shown.append(terminal.wait_for("quit"))
    terminal.press("5G")
    terminal.press("?")
    terminal.wait_for("Esc closes this")
    terminal.press("\x1b")
    terminal.wait_gone("Esc closes this")
    terminal.press("q")
    return "\n".join(shown)


@pytest.mark.parametrize("command", ["launch", "replay"])
def test_a_run_that_prints_sequences(home: Home, command: str) -> None:
    words = [command, profile(home, PIECES)]
    if command == "replay":
        words[1] = home.launch(words[1])
        home.wait_for_state(words[1], "ended")
    with Terminal(home.command(*words), home.environment) as terminal:
        look_at_all(terminal, "rank 0 exited 3")
        assert terminal.wait_end() == (3 if command == "launch" else 0)
        harmless(terminal)


def test_a_bare_log_with_sequences_and_such_a_name(home: Home, tmp_path: Path) -> None:
    names = b" ".join(piece for piece in PIECES if b"\0" not in piece and len(piece) < 500).replace(b"/", b"")
    path = os.fsencode(tmp_path) + b"/" + names[:200]
    with open(path, "wb") as file:
        line = b"%b\nstep:%d - critic/rewards/mean:0.5 - a/%b:0.5\n"
        file.writelines(line % (piece, step, piece[:200]) for step, piece in enumerate(PIECES, 1))
    with Terminal([*home.command("replay"), os.fsdecode(path)], home.environment) as terminal:
        look_at_all(terminal, "reward/mean")
        assert terminal.wait_end() == 0
        harmless(terminal)


def harmless(terminal: Terminal) -> None:
    """Nothing but what the dashboard itself draws with, and never what the payloads ask for."""
    assert terminal.emulator.foreign == []
    for payload in (b"\x1b]0;", b"\x1b]52", b"\x1b]8;", b"\x1b[1A", b"\x1bP", b"\x07\x07"):
        assert payload not in terminal.written
    assert terminal.left() == {}
    assert "Traceback (most" not in terminal.text


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_wide_characters_keep_the_columns(home: Home, size: tuple[int, int]) -> None:
    """Rows are counted as a terminal counts them, not as the program does."""
    name = home.launch(profile(home, [text.encode() for text in NAMES]))
    home.wait_for_state(name, "ended")

    async def look() -> dict[str, set[int]]:
        app = Dashboard(ReplayFeed(RunDirectory(str(home.directory(name))), None), Rights())
        found = {}
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.feed.span() is not None)
            for page in "12345678":
                await pilot.press(page)
                await pilot.pause(0.15)
                found[page] = widths_of(app)
        return found

    for page, found in asyncio.run(look()).items():
        assert found == {size[0]}, f"page {page}"
