"""The logs page on real and hostile logs: what a person presses, and what is on the screen then."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.screens import Shown, on_page, until
from textual.events import Key

from grpotui.text import inert
from grpotui.tui.cells import width
from grpotui.tui.feed.log import LogFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.tui.panels.logs import Logs
from grpotui_supervisor.follow import Records
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.file_source import FileSource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

    from grpotui.tui.app import Dashboard


RUN = Path(__file__).parents[1] / "data/runs/h200/sigkill"
STEP = "step:%d - critic/score/mean:0.5 - actor/entropy:1.25 - timing_s/step:2.0\n"


def replay(moment: int | None = None) -> ReplayFeed:
    return ReplayFeed(RunDirectory(str(RUN)), moment)


def log(path: Path, content: bytes | str) -> LogFeed:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return LogFeed(FileSource(str(path)), None)


def verl_log(steps: int, between: int = 3) -> str:
    return "".join(
        f"words {n} of step {step}\n" * between + STEP % step for step in range(1, steps + 1) for n in (step,)
    )


def run(
    feed: LogFeed | ReplayFeed, act: Callable[[Shown, Logs], Awaitable[None]], size: tuple[int, int] = (100, 30)
) -> None:
    async def use(page: Logs, app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: feed.frame.moment is not None)
        await until(pilot, lambda: page.reader.window is not None and not page.reader.window.left)
        await act(Shown(app, pilot), page)

    on_page(Logs, feed, use, size)


def test_all_ranks_are_there_and_the_end_is_followed() -> None:
    async def act(shown: Shown, page: Logs) -> None:
        await shown.sees("▼ end")
        text = shown.text()
        assert "0 out" in text
        assert "1 err" in text
        await shown.sees("rank 0 stderr line")
        assert page.view.follows

    run(replay(), act)


def test_one_rank_and_back() -> None:
    async def act(shown: Shown, page: Logs) -> None:
        await shown.press("tab", "tab")
        await shown.sees("log · rank 0 stderr")
        await shown.until(lambda: "1 err" not in shown.text())
        await shown.press("o")
        await shown.sees("rank 1")
        await shown.press("end", "enter")
        await shown.sees("log · rank 1")
        await shown.until(lambda: page.view.line is not None and page.view.line.file.startswith("1/"))
        assert page.has_focus

    run(replay(), act)


def test_no_line_is_shown_that_came_after_the_cursor() -> None:
    records = list(Records(str(RUN / "timeline.jsonl")).until(None))
    moments = [record["m"] for record in records if record["ev"] == "size"]

    async def act(shown: Shown, page: Logs) -> None:
        for moment in (moments[len(moments) // 2], moments[-1], moments[3]):
            sizes = {r["file"]: r["size"] for r in records if r["ev"] == "size" and r["m"] <= moment}
            expected = sum(
                data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
                for name, size in sizes.items()
                for data in [(RUN / "ranks" / name).read_bytes()[:size]]
                if name.endswith(".log")
            )
            shown.app.feed.seek(moment)
            await shown.until(lambda moment=moment: page.reader.window.wish.moment == moment)  # type: ignore[misc, union-attr]
            await shown.until(lambda expected=expected: page.view.total == expected)  # type: ignore[misc]
            assert page.reader.window is not None
            assert all(line.moment <= moment for line in page.reader.window.lines)

    run(replay(), act)


def test_a_bare_log_ends_with_the_record_of_the_cursor(tmp_path: Path) -> None:
    async def act(shown: Shown, page: Logs) -> None:
        assert page.view.total == 4 * 50
        await shown.press("[")
        await shown.until(lambda: page.view.total == 4 * 49)
        await shown.sees("step:49 - ")
        assert "of step 50" not in shown.text()
        await shown.sees("· step 49")

    run(log(tmp_path / "train.log", verl_log(50)), act)


def test_a_line_tells_its_step_and_takes_the_cursor_there(tmp_path: Path) -> None:
    async def act(shown: Shown, page: Logs) -> None:
        await shown.press("slash", *"words 20", "enter")
        await shown.sees("no 'words 20' below")
        await shown.press("g", "n")
        await shown.until(lambda: page.view.at == 4 * 19)
        await shown.sees("line 77 · step 20")
        await shown.press("enter")
        await shown.until(lambda: shown.app.feed.frame.moment == 20)
        await shown.until(lambda: page.view.total == 4 * 20)

    run(log(tmp_path / "train.log", verl_log(50)), act)


def test_search_filter_and_what_is_lit(tmp_path: Path) -> None:
    async def act(shown: Shown, page: Logs) -> None:
        await shown.press("g", "f", *"step:", "enter")
        await shown.sees("filter step:")
        await shown.until(lambda: page.view.total == 50)
        await shown.press("j", "j")
        await shown.until(lambda: page.view.line is not None and page.view.line.number == 11)
        await shown.press("escape")
        await shown.until(lambda: page.view.total == 200 and page.view.at == 11)
        await shown.press("N")
        await shown.until(lambda: page.view.at == 7)
        await shown.press("f", "home", "exclamation_mark", "enter")
        await shown.until(lambda: page.view.total == 150)

    run(log(tmp_path / "train.log", verl_log(50)), act)


def test_a_bad_expression_is_said_and_can_be_mended(tmp_path: Path) -> None:
    async def act(shown: Shown, page: Logs) -> None:
        await shown.press("g", "slash", *"re:(", "enter")
        await shown.sees("is no regular expression")
        await shown.press(*"words 3)", "enter")
        await shown.until(lambda: page.view.at == 8)

    run(log(tmp_path / "train.log", verl_log(9)), act, (140, 30))


def test_the_next_error_and_the_one_before(tmp_path: Path) -> None:
    text = "fine\n" * 50 + "Traceback (most recent call last):\n" + "fine\n" * 50 + "ValueError: no\n" + "fine\n" * 50

    async def act(shown: Shown, page: Logs) -> None:
        await shown.press("E")
        await shown.until(lambda: page.view.at == 101)
        assert "✖ 102" in await shown.sees("ValueError: no")
        await shown.press("E")
        await shown.until(lambda: page.view.at == 50)
        await shown.press("E")
        await shown.sees("no error above this line")
        await shown.press("g", "e")
        await shown.until(lambda: page.view.at == 50)

    run(log(tmp_path / "train.log", text), act)


def test_keys_move_and_following_ends_and_begins(tmp_path: Path) -> None:
    async def act(shown: Shown, page: Logs) -> None:
        assert page.view.at == 199
        await shown.press("k")
        assert not page.view.follows
        await shown.press("g")
        await shown.sees(" 1 words 1 of step 1")
        await shown.press("pagedown")
        await shown.until(lambda: page.view.at > 20 and page.view.line is not None)
        await shown.press("G")
        await shown.sees("▼ end")
        assert page.view.follows

    run(log(tmp_path / "train.log", verl_log(50)), act)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_hostile_lines_keep_the_frame_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    lines = [
        b"\x1b[2J\x1b[31mclear", "训练步骤完成 🚀 шаг 训练步骤".encode() * 20, b"[bold red]markup[/bold red] [/]",
        "\u202eright to left".encode(), bytes(range(256)).replace(b"\n", b""), b"\x00" * 50, b"x" * 1_000_000,
        b" 10%|#\r 50%|##\r100%|###", "e\u0301a\u0308 combined".encode(), b"\xff\xfe\xfd", b"tab\tbed",
    ]  # fmt: skip

    async def act(shown: Shown, page: Logs) -> None:
        for keys in ((), ("w",), ("right",), ("w", "g")):
            await shown.press(*keys)
            await shown.until(lambda: page.view.line is not None)
            await shown.pilot.pause(0.05)
            rows = shown.lines()[2:-1]
            assert all(width(row) == size[0] for row in rows)
            assert all(row.startswith(("│", "╭", "╰")) and row.endswith(("│", "╮", "╯")) for row in rows)
            assert "\x1b" not in shown.text()
            assert inert(shown.text().replace("\n", "")) == shown.text().replace("\n", "")
        await shown.sees("from column ")
        await shown.press("g", "left")
        await shown.sees("[bold red]markup[/bold red] [/]")
        await shown.sees("100%|###")
        assert " 50%|##" not in shown.text()

    run(log(tmp_path / "train.log", b"\n".join(lines) + b"\n"), act, size)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [("empty.log", b"", "nothing was printed as of the cursor"), ("a.log.gz", None, "this log is compressed")],
)
def test_what_has_no_lines_is_said(tmp_path: Path, name: str, content: bytes | None, words: str) -> None:
    async def act(shown: Shown, _: Logs) -> None:
        await shown.sees(words)

    run(log(tmp_path / name, gzip.compress(verl_log(3).encode()) if content is None else content), act)


def test_a_log_that_vanishes_while_it_is_looked_at_is_said(tmp_path: Path) -> None:
    shutil.copytree(RUN, tmp_path / "run")

    async def act(shown: Shown, page: Logs) -> None:
        shutil.rmtree(tmp_path / "run/ranks")
        await shown.press("g")
        await shown.until(lambda: page.view.at == 0)
        await shown.press("slash", *"loss", "enter")
        await shown.sees("no 'loss' below")
        assert re.search(r"\d+ lines", shown.text())

    run(ReplayFeed(RunDirectory(str(tmp_path / "run")), None), act)


def test_a_line_is_copied_inert(tmp_path: Path) -> None:
    async def act(shown: Shown, _: Logs) -> None:
        await shown.sees("the end")
        await shown.press("c")
        assert shown.app.clipboard == "the end\ufffd"

    run(log(tmp_path / "train.log", b"one\n\x1b[1mthe end\x07\n"), act)


def test_what_is_typed_in_one_go_is_not_lost(tmp_path: Path) -> None:
    async def act(shown: Shown, page: Logs) -> None:
        for key in ("g", "slash", *"now 30", "enter", "f", *"of", "escape", "N"):
            shown.app.post_message(Key("space" if key == " " else key, key if len(key) == 1 else None))
        await shown.sees("no 'now 30' above")
        assert page.has_focus
        assert not shown.app.query("OptionList.-open")

    run(log(tmp_path / "train.log", verl_log(50)), act)


def test_a_wrapped_line_is_there_with_all_its_words_and_the_end_stays_at_the_bottom(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(60)]
    text = "".join(f"{' '.join(words)} {line}\n" for line in range(9))

    async def act(shown: Shown, _: Logs) -> None:
        await shown.until(lambda: "word59" not in shown.text() and "word1 " in shown.text())
        await shown.press("w")
        await shown.sees("word59 8")
        rows = shown.lines()
        assert "word59 8" in rows[-3]
        assert rows[3].strip("│ ")
        await shown.press("g")
        await shown.sees("word59 0")
        assert "word0 word1" in shown.lines()[3]

    run(log(tmp_path / "train.log", text), act)
