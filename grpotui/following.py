"""Following a run from a terminal: the loop behind `launch`, `attach` and `stop`, whatever front end prints it."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any, Protocol

from grpotui.ndjson import NdJson
from grpotui.plain import Plain
from grpotui_supervisor import supervisors
from grpotui_supervisor.model.run_state import RunState, exit_status, phase, verdict
from grpotui_supervisor.source.changes import Change, Changes
from grpotui_supervisor.source.liveness import settle
from grpotui_supervisor.source.now import update_now
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.liveness import View

_PERIOD_S = 0.1
_MONITOR_SECONDS = 5.0
_AGAIN_SECONDS = 2.0


class FrontEnd(Protocol):
    """What prints a run."""

    def begin(self, source: Source) -> None:
        """Once, first."""

    def show(self, source: Source, changes: list[Change]) -> None:
        """What is new."""

    def end(self, document: Mapping[str, Any], code: int, code_from: str) -> None:
        """Once, last."""

    def notice(self, text: str) -> None:
        """A word about this client itself."""


class _Interrupts:
    """Counts Ctrl-C; the loop asks what has come since."""

    def __init__(self) -> None:
        self.count = 0
        signal.signal(signal.SIGINT, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1

    def take(self) -> bool:
        """Whether Ctrl-C was pressed since the last call."""
        pressed, self.count = self.count > 0, 0
        return pressed


def follow(directory: RunDirectory, *, as_json: bool, owner: bool) -> int:
    """Prints the run to its end and returns the exit code. `owner`: Ctrl-C goes to the job; else it detaches."""
    front: FrontEnd = NdJson() if as_json else Plain()
    source, interrupts = Source(directory), _Interrupts()
    front.begin(source)
    changes, pressed_at = Changes(), float("-inf")
    while True:
        view = update_now(source)
        run = settle(source.run, view)
        front.show(source, changes.of(source, run))
        if _is_over(run, view):
            return _finish(front, source, changes, view)
        if supervisors.ensure_monitor(directory, source, view):
            front.notice("the run had no monitor; one was started")
        if interrupts.take():
            if not owner:
                front.notice(f"detached; the run goes on: grpotui attach {directory.run_id}")
                return 0
            again = time.monotonic() - pressed_at < _AGAIN_SECONDS
            pressed_at = time.monotonic()
            _interrupt(front, directory, again=again)
        time.sleep(_PERIOD_S)


def follow_stop(directory: RunDirectory) -> int:
    """Prints how a stop goes until the run has ended; Ctrl-C stops waiting. 0 when it has ended."""
    front, source, interrupts, changes = Plain(), Source(directory), _Interrupts(), Changes()
    view = update_now(source)
    changes.of(source, settle(source.run, view))
    while not interrupts.take():
        view = update_now(source)
        run = settle(source.run, view)
        front.show(source, changes.of(source, run))
        if phase(run) == "ended":
            front.end(status(source, view), 0, "grpotui")
            return 0
        if run.unkillable:
            front.notice(
                f"pids {', '.join(map(str, run.unkillable))} survive KILL: they hang in the kernel or a driver"
            )
            return 1
        time.sleep(_PERIOD_S)
    front.notice("no longer waiting; the stop goes on")
    return 130


def _interrupt(front: FrontEnd, directory: RunDirectory, *, again: bool) -> None:
    supervisors.ask(directory, "stop" if again else "interrupt", why="Ctrl-C in launch")
    if again:
        front.notice("stopping: INT, then TERM, then KILL")
    else:
        front.notice(f"INT sent to the job; Ctrl-C again within {_AGAIN_SECONDS:g} s stops it")


def _is_over(run: RunState, view: View) -> bool:
    if phase(run) == "ended":
        return True
    if view.place in ("elsewhere", "copy") and not view.shim_alive:
        return True  # nothing more will come to be seen from here
    return verdict(run) is not None and (run.leftovers_kept or bool(run.unkillable))


def _finish(front: FrontEnd, source: Source, changes: Changes, view: View) -> int:
    """The monitor's last look belongs to the run: it is waited for, and made up for when no monitor lives."""
    if view.can_control and phase(settle(source.run, view)) == "ended":
        supervisors.finish_monitoring(source.directory, seconds=_MONITOR_SECONDS)
    view = update_now(source)
    run = settle(source.run, view)
    front.show(source, changes.of(source, run))
    code, code_from = exit_status(run, expect_met=_expect_met(source))
    front.end(status(source, view), code, code_from)
    return code


def _expect_met(source: Source) -> bool:
    """Whether the log showed what the profile's [expect] asks for; what it did not show is not met."""
    wanted = source.facts.get("profile", {}).get("expect", {}).get("steps")
    if wanted is None:
        return True
    reader = source.logs.reader
    return reader is not None and reader.step is not None and reader.step >= int(wanted)
