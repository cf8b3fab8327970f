"""A machine's state root with runs in it, and the start screen on it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpotui.tui.all_runs import AllRuns
from grpotui.tui.app import Rights
from grpotui.tui.feed.machine import Machine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from textual.pilot import Pilot
    from textual.screen import Screen

RUNS = Path(__file__).parent.parent / "data" / "runs" / "h200"


def state_root(path: Path, names: Iterable[str] = ("normal", "sigkill", "teardown", "one-gpu")) -> Path:
    """Copies of recorded runs, of which the last named one is the newest."""
    (path / "runs").mkdir(parents=True, mode=0o700)
    path.chmod(0o700)
    for number, name in enumerate(names):
        folder = path / "runs" / name
        shutil.copytree(RUNS / name, folder)
        folder.chmod(0o700)
        os.utime(folder / "run.json", (1_000_000_000 + number, 1_000_000_000 + number))
    return path


def many(path: Path, count: int) -> Path:
    """So many runs; each is a copy of the records of one, without its logs."""
    (path / "runs").mkdir(parents=True, mode=0o700)
    facts = json.loads((RUNS / "sigkill" / "run.json").read_text())
    records = (RUNS / "sigkill" / "ranks.jsonl").read_bytes()
    for number in range(count):
        folder = path / "runs" / f"run-{number:04}"
        folder.mkdir(mode=0o700)
        (folder / "run.json").write_text(json.dumps(facts))
        (folder / "ranks.jsonl").write_bytes(records)
        os.utime(folder / "run.json", (1_000_000_000 + number, 1_000_000_000 + number))
    return path


@asynccontextmanager
async def start_screen(
    root: Path, *, rights: Rights | None = None, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[AllRuns, Pilot[None]]]:
    """The application on a state root, once it has read everything."""
    rights = rights or Rights(control=True)
    machine = Machine(str(root), readonly=not rights.control)
    app = AllRuns(machine, rights)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: machine.frame.unread == 0)
        yield app, pilot
    await asyncio.to_thread(machine.close)
    app.feed.close()
    assert machine.error is None


async def until(pilot: Pilot[None], holds: Callable[[], object], seconds: float = 15.0) -> None:
    """Waits for it."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not holds():
        assert asyncio.get_running_loop().time() < deadline, shown(pilot.app.screen)
        await pilot.pause(0.02)
    await pilot.pause()


def shown(screen: Screen[Any]) -> str:
    """The text of a screen."""
    return "\n".join("".join(segment.text for segment in strip) for strip in screen._compositor.render_strips())
