"""What changes a run is asked for by its name, does what it says, and is not there for whoever may not."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.screens import on_page, text_of, until
from support.still_feed import H200, StillFeed, exited, member, recorded
from support.waiting import wait_until
from textual.widgets import Static

from grpotui.cli import attach
from grpotui.tui import opening
from grpotui.tui.app import Dashboard, Rights
from grpotui.tui.feed.live import LiveFeed
from grpotui.tui.panels.asking import end_of_leftovers, end_of_run
from grpotui.tui.panels.ranks import Ranks
from grpotui.tui.screens.dialogs import HelpScreen, Question
from grpotui.watching import Interrupts
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.runs import Home
    from textual.pilot import Pilot


FACTS = {
    "profile": {"launch": {"interrupt_seconds": 3.0, "terminate_seconds": 5}},
    "members": [{"member": "1", "argv": ["/opt/bin/python3", "/my/train.py", "--x"]}],
}


@pytest.fixture(autouse=True)
def _keep_the_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def live(home: Home, run: str) -> LiveFeed:
    return LiveFeed(RunDirectory(str(home.directory(run))), Interrupts())


def pids(home: Home, run: str) -> list[int]:
    return wait_until(
        lambda: found if len(found := [r["pid"] for r in home.records(run) if r["ev"] == "spawned"]) == 2 else None,
        what="both ranks",
    )


async def asked(pilot: Pilot[None]) -> str:
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    await pilot.pause()
    (words,) = pilot.app.screen.query(Static)
    assert "leave it alone" in text_of(pilot.app)  # type: ignore[arg-type]
    return str(words.content)


def test_kill_names_the_processes_and_enter_leaves_them_alone(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep", "sleep"))
    known = pids(home, run)

    async def use(_: Ranks, app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "● running" in text_of(app))
        await pilot.press("K")
        text = await asked(pilot)
        assert f"Kill {run}? KILL to every process of it, at once; nothing is saved." in text
        for rank, pid in enumerate(known):
            assert f"pid {pid}  rank {rank}  python" in text
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, Question))
        await pilot.press("K")
        await asked(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Question))
        assert not [r for r in home.records(run) if r["ev"] in ("request", "stop")]
        await pilot.press("K")
        await asked(pilot)
        await pilot.press("k")
        await until(pilot, lambda: app.feed.frame.over)

    on_page(Ranks, live(home, run), use, rights=Rights(control=True))
    assert [(r["how"], r["signal"], r["sent"]) for r in home.records(run) if r["ev"] == "exit"] == [
        ("killed", "SIGKILL", ["SIGKILL"])
    ] * 2


def test_stop_is_the_stop_plan(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep", "sleep"))
    pids(home, run)

    async def use(_: Ranks, app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "● running" in text_of(app))
        await pilot.press("T")
        assert "INT to its ranks, after 0.5 s TERM, after 0.5 s KILL" in await asked(pilot)
        await pilot.press("s")
        await until(pilot, lambda: app.feed.frame.over)

    on_page(Ranks, live(home, run), use, rights=Rights(control=True))
    assert [r["sent"][0] for r in home.records(run) if r["ev"] == "exit"] == ["SIGINT"] * 2


def test_leftovers_alone_are_ended(home: Home) -> None:
    path = Path(home.ranks_profile("orphan"))
    path.write_text(path.read_text().replace("leftover_grace_seconds = 0.5", "leftover_grace_seconds = 600"))
    run = home.launch(str(path))
    wait_until(lambda: [r for r in home.records(run) if r["ev"] == "ranks_done"], what="the end of the ranks")

    async def use(_: Ranks, app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "X ends them" in text_of(app))
        (left,) = app.feed.frame.document["leftovers"]
        await pilot.press("X")
        text = await asked(pilot)
        assert f"End what {run} left behind? TERM, after 0.5 s KILL." in text
        assert f"pid {left['pid']}  {left['name'][:8]}" in text
        assert procfs.is_running(left["pid"])
        await pilot.press("x")
        await until(pilot, lambda: app.feed.frame.over)
        assert not procfs.is_running(left["pid"])

    on_page(Ranks, live(home, run), use, rights=Rights(control=True))


@pytest.mark.parametrize(("kind", "rights"), [("live", Rights(control=False)), ("replay", Rights())])
def test_whoever_may_not_is_not_offered_it(kind: str, rights: Rights) -> None:
    left = [{"pid": 7, "name": "engine", "member": None, "gpus": [], "gpu_bytes": None}]
    source = StillFeed(recorded(ranks=[member(0)], leftovers=left, verdict=None, first_failure=None), kind)  # type: ignore[arg-type]

    async def use(_: Ranks, app: Dashboard, pilot: Pilot[None]) -> None:
        assert "X ends them" not in text_of(app)
        await pilot.press("T", "K", "X")
        await pilot.pause()
        assert not isinstance(app.screen, Question)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        screen = app.run_screen
        assert screen is not None
        offered = {b.action for name, keys in screen.bindings_by_page() if name == "ranks" for b in keys}
        assert "copy" in offered
        assert not offered & {"stop", "kill", "leftovers"}

    on_page(Ranks, source, use, rights=rights)


def test_with_rights_the_help_has_them() -> None:
    async def use(_: Ranks, app: Dashboard, __: Pilot[None]) -> None:
        screen = app.run_screen
        assert screen is not None
        offered = {b.action for name, keys in screen.bindings_by_page() if name == "ranks" for b in keys}
        assert offered >= {"stop", "kill", "leftovers"}

    on_page(Ranks, StillFeed(recorded(), "live"), use, rights=Rights(control=True))


@pytest.mark.parametrize(("words", "control"), [((), True), (("--readonly",), False)])
def test_readonly_gives_no_rights(words: tuple[str, ...], *, control: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, bool] = {}

    def live(*_: object, **rights: bool) -> int:
        given.update(rights)
        return 0

    monkeypatch.setattr(attach, "is_screen", lambda: True)
    monkeypatch.setattr(opening, "live", live)
    done = CliRunner().invoke(attach.command, [str(H200 / "sigkill"), *words], standalone_mode=False)
    assert done.exception is None
    assert given == {"owner": False, "control": control}


def test_the_words_of_the_question() -> None:
    ranks = [exited(0, 0), *(member(n) for n in range(1, 30))]
    question = end_of_run(recorded(ranks=ranks), FACTS, now=False)
    assert question is not None
    assert "after 3 s TERM, after 5 s KILL" in question.words
    assert question.processes[0] == "pid 4001  rank 1  python3 train.py --x"
    assert question.processes[1] == "pid 4002  rank 2"
    assert question.processes[-1] == "and 21 more"
    assert len(question.processes) == 9
    assert end_of_run(recorded(ranks=[exited(0, 0)]), FACTS, now=True) is None
    assert end_of_leftovers(recorded(leftovers=[]), FACTS) is None
