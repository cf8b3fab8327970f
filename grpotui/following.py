"""Following a run line by line: the loop behind `launch`, `attach` and `stop`, whatever front end prints it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from grpotui.ndjson import NdJson
from grpotui.output import say
from grpotui.plain import Plain
from grpotui.watching import AGAIN_SECONDS, Interrupts, Watch, goes_on, interrupt, is_over
from grpotui_supervisor.model.run_state import phase
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui.watching import Look
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.changes import Change
    from grpotui_supervisor.source.source import Source

DETACHED_BY_PIPE = 141
"""128 + SIGPIPE, as a shell shows a program whose reader has gone."""
UNREACHED = 125
"""What became of the run is not known."""


class FrontEnd(Protocol):
    """What prints a run."""

    def begin(self, source: Source) -> None:
        """Once, first."""

    def show(self, source: Source, changes: list[Change]) -> None:
        """What is new."""

    def end(self, source: Source, document: Mapping[str, Any], code: int, code_from: str) -> None:
        """Once, last."""

    def notice(self, text: str) -> None:
        """A word about this client itself."""


def front_end(*, as_json: bool) -> FrontEnd:
    """The front end that an option chose."""
    return NdJson() if as_json else Plain()


def follow(directory: RunDirectory, *, front: FrontEnd, interrupts: Interrupts, owner: bool) -> int:
    """Prints the run to its end and returns the exit code. `owner`: Ctrl-C goes to the job; else it detaches."""
    try:
        return _follow(directory, front, interrupts, owner=owner)
    except BrokenPipeError:
        with suppress(OSError):
            say(f"grpotui: nobody reads the output any more; {goes_on(directory)}")
        return DETACHED_BY_PIPE


def _follow(directory: RunDirectory, front: FrontEnd, interrupts: Interrupts, *, owner: bool) -> int:
    watch, pressed_at = Watch(directory, front.notice, [interrupts.fd]), float("-inf")
    front.begin(watch.source)
    while True:
        look = watch.look()
        front.show(watch.source, look.changes)
        if is_over(look):
            return _finish(front, watch, look, interrupts)
        watch.care(look)
        if interrupts.take():
            if not owner:
                front.notice(f"detached; {goes_on(directory)}")
                return 0
            again = time.monotonic() - pressed_at < AGAIN_SECONDS
            pressed_at = time.monotonic()
            if not interrupt(directory, front.notice, again=again) and again:
                front.notice(f"no longer waiting; {goes_on(directory)}")
                return UNREACHED
        watch.wait()


def follow_stop(directory: RunDirectory, *, front: FrontEnd, interrupts: Interrupts) -> int:
    """Prints how a stop goes until no process of the run is left; Ctrl-C stops waiting. 0 when none is left."""
    watch = Watch(directory, front.notice, [interrupts.fd])
    watch.look()
    while not interrupts.take():
        look = watch.look()
        front.show(watch.source, look.changes)
        if phase(look.run) == "ended":
            front.end(watch.source, status(watch.source, look.view), 0, "grpotui")
            return 0
        if look.run.unkillable:
            pids = ", ".join(map(str, look.run.unkillable))
            front.notice(f"pids {pids} survive KILL: they hang in the kernel or a driver")
            return 1
        watch.care(look)
        if watch.is_unrecorded:
            return 0
        watch.wait()
    front.notice("no longer waiting; the stop goes on")
    return 130


def _finish(front: FrontEnd, watch: Watch, look: Look, interrupts: Interrupts) -> int:
    def stopped() -> bool:
        front.show(watch.source, watch.look().changes)
        return interrupts.take()

    watch.settle_monitor(look, stopped)
    look = watch.look()
    front.show(watch.source, look.changes)
    end = watch.end(look)
    front.end(watch.source, end.document, end.code, end.code_from)
    if end.unmet is not None:
        front.notice(end.unmet)
    return end.code
