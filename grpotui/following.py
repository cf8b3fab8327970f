"""Following a run from a terminal: the loop behind `launch`, `attach` and `stop`, whatever front end prints it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from grpotui.monitoring import keep_monitored
from grpotui.ndjson import NdJson
from grpotui.output import say
from grpotui.plain import Plain
from grpotui.text import unmet
from grpotui_supervisor import supervisors
from grpotui_supervisor.errors import StartError
from grpotui_supervisor.model.run_state import RunState, exit_status, phase, verdict
from grpotui_supervisor.source.changes import Change, Changes
from grpotui_supervisor.source.expectation import expectation
from grpotui_supervisor.source.liveness import is_all_gone, settle
from grpotui_supervisor.source.now import update_now
from grpotui_supervisor.source.source import MARGIN_NS, Source
from grpotui_supervisor.source.status import status
from grpotui_supervisor.waking import Waker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.liveness import View

_PERIOD_S = 1.0
"""From one look to the next while nothing happens: locks are the only thing that changes without a word."""
_POLL_S = 0.1
_FILES = ("ranks.jsonl", "host.jsonl", "timeline.jsonl", "findings.jsonl", "shim.lock", "monitor.lock")
_MONITOR_SECONDS = 5.0
_AGAIN_SECONDS = 2.0
_CARE_SECONDS = 5.0
"""How often a missing monitor is started at most: where it dies at once, the next one will."""
_UNRECORDED_SECONDS = 2.0
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


class Interrupts:
    """Counts Ctrl-C from its making on; the loop asks what has come since."""

    def __init__(self) -> None:
        self.count = 0
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        """Readable once Ctrl-C was pressed: whoever waits for files must not sleep over it."""
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a background job of a script keeps out of it
            signal.signal(signal.SIGINT, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        os.eventfd_write(self.fd, 1)

    def take(self) -> bool:
        """Whether Ctrl-C was pressed since the last call."""
        pressed, self.count = self.count > 0, 0
        with suppress(BlockingIOError):
            os.eventfd_read(self.fd)
        return pressed


def front_end(*, as_json: bool) -> FrontEnd:
    """The front end that an option chose."""
    return NdJson() if as_json else Plain()


def follow(directory: RunDirectory, *, front: FrontEnd, interrupts: Interrupts, owner: bool) -> int:
    """Prints the run to its end and returns the exit code. `owner`: Ctrl-C goes to the job; else it detaches."""
    try:
        return _follow(directory, front, interrupts, owner=owner)
    except BrokenPipeError:
        with suppress(OSError):
            say(f"grpotui: nobody reads the output any more; {_goes_on(directory)}")
        return DETACHED_BY_PIPE


def _follow(directory: RunDirectory, front: FrontEnd, interrupts: Interrupts, *, owner: bool) -> int:
    source, changes, pause = Source(directory), Changes(), Pause(directory, interrupts)
    care, pressed_at = _Care(source, front), float("-inf")
    front.begin(source)
    while True:
        view = update_now(source)
        run = settle(source.run, view)
        front.show(source, changes.of(source, run))
        if _is_over(run, view):
            return _finish(front, source, changes, view)
        care.look(run, view)
        if interrupts.take():
            if not owner:
                front.notice(f"detached; {_goes_on(directory)}")
                return 0
            again = time.monotonic() - pressed_at < _AGAIN_SECONDS
            pressed_at = time.monotonic()
            if not _interrupt(front, directory, again=again) and again:
                front.notice(f"no longer waiting; {_goes_on(directory)}")
                return UNREACHED
        pause.wait()


def follow_stop(directory: RunDirectory, *, front: FrontEnd, interrupts: Interrupts) -> int:
    """Prints how a stop goes until no process of the run is left; Ctrl-C stops waiting. 0 when none is left."""
    source, changes, pause = Source(directory), Changes(), Pause(directory, interrupts)
    care = _Care(source, front)
    view = update_now(source)
    changes.of(source, settle(source.run, view))
    while not interrupts.take():
        view = update_now(source)
        run = settle(source.run, view)
        front.show(source, changes.of(source, run))
        if phase(run) == "ended":
            front.end(source, status(source, view), 0, "grpotui")
            return 0
        if run.unkillable:
            pids = ", ".join(map(str, run.unkillable))
            front.notice(f"pids {pids} survive KILL: they hang in the kernel or a driver")
            return 1
        care.look(run, view)
        if care.is_unrecorded:
            return 0
        pause.wait()
    front.notice("no longer waiting; the stop goes on")
    return 130


class Pause:
    """What a client does between two looks: it waits until a record has grown, and until that counts."""

    def __init__(self, directory: RunDirectory, interrupts: Interrupts) -> None:
        self._waker = Waker(poll_s=_POLL_S)
        self._waker.watch(directory.file(name) for name in _FILES)
        self._interrupts = interrupts

    def wait(self) -> None:
        """A record counts only `MARGIN_NS` after it was written: a look before that would not find it."""
        self._waker.wait(_PERIOD_S, [self._interrupts.fd])
        time.sleep(MARGIN_NS / 1e9)


class _Care:
    """What a client does for the run beside printing it."""

    def __init__(self, source: Source, front: FrontEnd) -> None:
        self._source = source
        self._front = front
        self._cared_at = float("-inf")
        self._gone_since: float | None = None
        self._said: set[str] = set()
        self.is_unrecorded = False
        """Everything has ended, and the record cannot take it."""

    def look(self, run: RunState, view: View) -> None:
        """Called in each round of a live run."""
        now = time.monotonic()
        if now - self._cared_at >= _CARE_SECONDS:
            self._cared_at = now
            self._say_once(keep_monitored(self._source.directory, self._source, view))
        if not (view.shim_alive and is_all_gone(run, self._source.directory.run_id)):
            self._gone_since = None
            return
        self._gone_since = self._gone_since or now
        if now - self._gone_since >= _UNRECORDED_SECONDS:
            self.is_unrecorded = True
            what = "no process of the run is alive" if run.members else "nothing of the run was started"
            path = self._source.directory.file("ranks.jsonl")
            self._say_once(f"{what}, but {path} takes no record of it: is the disk full?")

    def _say_once(self, text: str | None) -> None:
        if text is not None and text not in self._said:
            self._said.add(text)
            self._front.notice(text)


def _goes_on(directory: RunDirectory) -> str:
    return f"the run goes on: grpotui attach {directory.run_id}"


def _interrupt(front: FrontEnd, directory: RunDirectory, *, again: bool) -> bool:
    """Whether the job was reached."""
    try:
        supervisors.ask(directory, "stop" if again else "interrupt", why="Ctrl-C in launch")
    except (StartError, OSError) as error:
        front.notice(f"the job was not reached ({error}); Ctrl-C twice leaves it")
        return False
    if again:
        front.notice("stopping: INT, then TERM, then KILL")
    else:
        front.notice(f"INT sent to the job; Ctrl-C again within {_AGAIN_SECONDS:g} s stops it")
    return True


def _is_over(run: RunState, view: View) -> bool:
    if run.attached:
        return run.following_ended is not None or not (view.monitor_alive or view.can_control)
    if phase(run) == "ended":
        return True
    if view.place in ("elsewhere", "copy") and not view.shim_alive:
        return True  # nothing more will come to be seen from here
    return verdict(run) is not None and (run.leftovers_kept or bool(run.unkillable))


def _finish(front: FrontEnd, source: Source, changes: Changes, view: View) -> int:
    """The monitor's last look belongs to the run: it is waited for, and made up for when no monitor lives."""
    if view.can_control and not source.run.attached and phase(settle(source.run, view)) == "ended":
        with suppress(OSError):  # on a full disk the last lines stay out of the timeline
            supervisors.finish_monitoring(source.directory, seconds=_MONITOR_SECONDS)
    view = update_now(source)
    run = settle(source.run, view)
    front.show(source, changes.of(source, run))
    wanted = expectation(source)
    code, code_from = exit_status(run, expect_met=wanted is None or wanted.is_met)
    front.end(source, status(source, view), code, code_from)
    if wanted is not None and (code, code_from) == (4, "grpotui"):
        front.notice(f"{unmet(wanted.steps, wanted.shown)}: exit code 4")
    return code
