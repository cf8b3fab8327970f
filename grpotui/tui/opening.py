"""Opens the dashboard on a source, and says on the terminal that comes back what became of it."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from grpotui.output import say
from grpotui.plain import Plain
from grpotui.tui.app import Dashboard, Rights
from grpotui.tui.feed.live import LiveFeed
from grpotui.tui.feed.log import LogFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.watching import goes_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui.tui.feed.feed import Feed
    from grpotui.watching import Interrupts
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.file_source import FileSource

_TURN_S: Final = 0.0005
"""How long a thread that parses keeps the interpreter from one that draws: Python's 5 ms come several times a key. At
50,000 lines/s a page followed its key after 79 ms in place of 123, on a busy machine."""


def live(directory: RunDirectory, interrupts: Interrupts, *, owner: bool, control: bool) -> int:
    """A run as it goes on; returns the exit code of `launch` once it is over, 0 where it was left before.

    Raises:
        GrpotuiError: the run cannot be read.
    """
    feed = LiveFeed(directory, interrupts)
    show(feed, Rights(owner=owner, control=control))
    end = feed.outcome()
    if end is None:
        say(f"grpotui: detached; {goes_on(directory)}")
        return 0
    front = Plain()
    say(f"run {directory.run_id}")
    front.end(feed.source, end.document, end.code, end.code_from)
    if end.unmet is not None:
        front.notice(end.unmet)
    return end.code


def replay(directory: RunDirectory, moment: int | None) -> int:
    """A run at a moment, in monotonic nanoseconds; None: its end."""
    show(ReplayFeed(directory, moment), Rights())
    return 0


def log(source: FileSource, step: int | None) -> int:
    """A bare log at a step; None: its end."""
    show(LogFeed(source, step), Rights())
    return 0


def home(root: str, rights: Rights) -> int:
    """All runs of this machine, until a person leaves. `rights` for what is opened from there.

    Raises:
        GrpotuiError: what there is cannot be looked at.
    """
    from grpotui.tui.all_runs import AllRuns  # noqa: PLC0415  (a single run is on the screen 40 ms sooner without it)
    from grpotui.tui.feed.machine import Machine  # noqa: PLC0415

    machine = Machine(root, readonly=not rights.control)
    with _environment():
        app = AllRuns(machine, rights)
        app.run()
    machine.close()
    _after(app, machine.error)
    return 0


def show(feed: Feed, rights: Rights) -> None:
    """One source, until a person leaves.

    Raises:
        GrpotuiError: it cannot be read.
    """
    with _environment():
        app = Dashboard(feed, rights)
        app.run()
    _after(app, feed.error)


def _after(app: Dashboard, error: BaseException | None) -> None:
    """What ended it beside a person is what the terminal shows then."""
    app.feed.close()
    if app.killed_by is not None:
        signal.signal(app.killed_by, signal.SIG_DFL)
        os.kill(os.getpid(), app.killed_by)
    if error is not None:
        raise error
    if app.failure is not None:
        raise app.failure


@contextmanager
def _environment() -> Iterator[None]:
    """NO_COLOR as it should be read, and as it was; and threads that take shorter turns.

    Textual takes it out of the environment, in which what this client starts would miss it; an empty one says nothing
    (no-color.org), and Textual takes it for set.
    """
    known, interval = os.environ.get("NO_COLOR"), sys.getswitchinterval()
    if known == "":
        del os.environ["NO_COLOR"]
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if known is not None:
            os.environ["NO_COLOR"] = known
