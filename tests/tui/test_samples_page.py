"""The samples page: one answer at a time, its group, what is told of it, and what is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.screens import Shown, on_page, until

from grpotui.tui.cells import width
from grpotui.tui.feed.log import LogFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.tui.panels.samples import Samples
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.file_source import FileSource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from grpotui.tui.app import Dashboard
    from grpotui.tui.feed.feed import Feed

CONSOLE = "[prompt] %s\n[response] %s\n[ground_truth] 4\n[score] %s\n"
STEP = "step:%d - critic/score/mean:0.5 - actor/entropy:1.25\n"


def console(*steps: list[tuple[str, str, float]]) -> str:
    return "".join("".join(CONSOLE % one for one in answers) + STEP % number for number, answers in enumerate(steps, 1))


def log(path: Path, content: str) -> LogFeed:
    path.write_text(content)
    return LogFeed(FileSource(str(path)), None)


def run(feed: Feed, act: Callable[[Shown, Samples], Awaitable[None]], size: tuple[int, int] = (120, 40)) -> None:
    async def use(page: Samples, app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: page.reader.shown is not None and not page.reader.shown.reading)
        await act(Shown(app, pilot), page)

    on_page(Samples, feed, use, size)


THREE = [
    [("2+2=?", "four", 0.0), ("2+2=?", "4", 1.0), ("2+2=?", "4", 1.0), ("3+1=?", "five", 0.0)],
    [("2+2=?", "5", 0.0)],
    [("1+3=?", "I think\nit is 4", 1.0), ("1+3=?", "no idea", -1.0)],
]


def test_one_answer_at_a_time(tmp_path: Path) -> None:
    async def act(shown: Shown, _: Samples) -> None:
        await shown.sees("step 3 · prompt 1 of the step · answer 1 of 2")
        for words in ("it is 4", "score 1", "tokens not told", "how it ended is not told",
                      "2 different among 2 answers", "verl's console", "6 of 7", "▸  1"):  # fmt: skip
            assert words in shown.text()
        await shown.press("j")
        await shown.sees("score -1")
        await shown.press("j", "g")
        await shown.sees("1 of 7")
        await shown.sees("2 different among 3 answers")
        await shown.press("l")
        await shown.sees("prompt 2 of the step")
        await shown.press("k", "k")
        await shown.sees("prompt 1 of the step · answer 2 of 3")
        await shown.press("c")
        await shown.sees("the answer is copied")
        assert shown.app.clipboard == "4"

    run(log(tmp_path / "train.log", console(*THREE)), act)


def test_only_failed_one_step_and_all_again(tmp_path: Path) -> None:
    async def act(shown: Shown, _: Samples) -> None:
        await shown.press("f")
        await shown.sees("only without a reward above 0")
        await shown.sees(" of 4 ")
        await shown.press("s", "1", "enter")
        await shown.sees("only step 1, without a reward above 0")
        await shown.sees(" of 2 ")
        await shown.press("u")
        await shown.sees("it is not told which answers were cut off")
        await shown.press("escape")
        await shown.sees(" of 7 ")

    run(log(tmp_path / "train.log", console(*THREE)), act)


def test_a_search_leads_to_the_hit_in_a_long_answer(tmp_path: Path) -> None:
    long = "\n".join(f"line {n}" for n in range(500))

    async def act(shown: Shown, _: Samples) -> None:
        await shown.sees("more rows: PgDn")
        await shown.press("g", "slash", *"line 333", "enter")
        await shown.sees("line 333")
        await shown.press("n")
        await shown.sees("no 'line 333' behind this answer")

    run(log(tmp_path / "train.log", console([("a", "b", 1.0)], [("a", long, 1.0)])), act)


def test_samples_are_those_of_the_cursor(tmp_path: Path) -> None:
    async def act(shown: Shown, _: Samples) -> None:
        await shown.press("left_square_bracket")
        await shown.sees("5 of 5")
        await shown.press("left_square_bracket")
        await shown.sees(" of 4 ")
        assert "step 2" not in "\n".join(shown.lines()[2:])

    run(log(tmp_path / "train.log", console(*THREE)), act)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_hostile_answers_keep_the_frame_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    texts = [
        "\x1b[2J\x1b]0;t\x07clear",
        "训练步骤完成🚀" * 40,
        "[bold]markup[/bold] [/]",
        "\u202eleft",
        "a\tb\x00",
        "x" * 9000,
    ]

    async def act(shown: Shown, _: Samples) -> None:
        for _step in texts:
            await shown.press("k")
            await shown.pilot.pause(0.05)
            rows = shown.lines()[2:-1]
            assert all(width(row) == size[0] for row in rows)
            assert all(row[0] in "│╭╰" and row[-1] in "│╮╯" for row in rows)
            assert not {"\x1b", "\u202e", "\x00", "\x07"} & set(shown.text())
        await shown.press("g", "j", "j")
        await shown.sees("[bold]markup[/bold] [/]")
        assert ("same prompt" in shown.text()) == (size[0] > 100)

    run(log(tmp_path / "train.log", console([("p", text, 0.5) for text in texts])), act, size)


def of_run(folder: Path, framework: str, dumps: list[str]) -> ReplayFeed:
    facts: dict[str, Any] = {"schema": 1, "run": "r", "node": "node-0", "members": [], "cwd": str(folder),
                             "profile": {"framework": framework, "logs": {"samples": dumps}}}  # fmt: skip
    (folder / "run").mkdir()
    (folder / "run/run.json").write_text(json.dumps(facts))
    line = {"ev": "done", "t": 1.0, "m": 1, "seq": 1}
    (folder / "run/ranks.jsonl").write_text(json.dumps(line) + "\n")
    return ReplayFeed(RunDirectory(str(folder / "run")), None)


def test_without_samples_it_says_how_they_are_turned_on(tmp_path: Path) -> None:
    async def act(shown: Shown, _: Samples) -> None:
        await shown.sees("no samples: neither in the log nor in a dump")
        await shown.sees("log_completions=True")
        await shown.sees("rollout_data_dir=FOLDER")

    run(log(tmp_path / "train.log", "words\n"), act, (80, 24))


def test_the_dumps_that_the_profile_names(tmp_path: Path) -> None:
    (tmp_path / "rollouts").mkdir()
    for step in (1, 2):
        rows = [{"input": "2+2=?", "output": f"answer {n} of {step}", "score": n / 2, "step": step} for n in range(3)]
        (tmp_path / f"rollouts/{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    async def act(shown: Shown, _: Samples) -> None:
        await shown.sees("answer 0 of 2")
        await shown.sees("verl's dump")
        await shown.sees("for samples, is not there")
        await shown.press("f")
        await shown.sees("1 of 2")

    run(of_run(tmp_path, "verl", ["rollouts", "none"]), act)
