"""One client that watches a live run: looks, waits between them, and what it does for the run beside showing it.

The loops of the plain front ends and the feed of the dashboard are both made of this.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpotui.awaiting import await_return
from grpotui.monitoring import keep_monitored
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
    from collections.abc import Callable, Iterable
    from types import FrameType

    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.liveness import View

    Say = Callable[[str], object]

_PERIOD_S = 1.0
"""From one look to the next while nothing happens: locks are the only thing that changes without a word."""
_POLL_S = 0.1
_FILES = ("ranks.jsonl", "host.jsonl", "timeline.jsonl", "findings.jsonl", "shim.lock", "monitor.lock")
_MONITOR_SECONDS = 5.0
AGAIN_SECONDS = 2.0
"""A second Ctrl-C within these means more than the first."""
_CARE_SECONDS = 5.0
"""How often a missing monitor is started at most: where it dies at once, the next one will."""
_UNRECORDED_SECONDS = 2.0


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


class Pause:
    """What a client does between two looks: it waits until a record has grown, and until that counts."""

    def __init__(self, directory: RunDirectory, fds: Iterable[int], files: Iterable[str] = _FILES) -> None:
        """One of the descriptors that becomes readable ends the pause."""
        self._waker = Waker(poll_s=_POLL_S)
        self._waker.watch(directory.file(name) for name in files)
        self._fds = tuple(fds)

    def wait(self) -> None:
        """A record counts only `MARGIN_NS` after it was written: a look before that would not find it."""
        self._waker.wait(_PERIOD_S, self._fds)
        time.sleep(MARGIN_NS / 1e9)

    def close(self) -> None:
        """Gives the kernel back what it watched with."""
        self._waker.close()


@dataclass(frozen=True, slots=True)
class Look:
    """The run as it was at one look."""

    view: View
    run: RunState
    changes: list[Change]


@dataclass(frozen=True, slots=True)
class End:
    """How a run that is over is told: its document, the code that `launch` exits with, and whose word that is."""

    document: dict[str, Any]
    code: int
    code_from: str
    unmet: str | None
    """That a run that passed did less than its profile expects, in words."""


class Watch:
    """A run, watched. `say` is told what concerns this client itself."""

    def __init__(self, directory: RunDirectory, say: Say, fds: Iterable[int] = ()) -> None:
        """A descriptor of `fds` that becomes readable ends a wait."""
        self.directory = directory
        self.source = Source(directory)
        self._changes = Changes()
        self._fds = tuple(fds)
        self._pause = Pause(directory, self._fds)
        self._say = say
        self._care = _Care(self.source, say)

    @property
    def is_unrecorded(self) -> bool:
        """Everything has ended, and the record cannot take it."""
        return self._care.is_unrecorded

    def look(self) -> Look:
        """Brings the source to now."""
        view = update_now(self.source)
        run = settle(self.source.run, view)
        return Look(view, run, self._changes.of(self.source, run))

    def care(self, look: Look) -> None:
        """Called after each look at a live run: it is never left without a monitor."""
        self._care.look(look.run, look.view)

    def wait(self) -> None:
        """Until something is on record, or for a second."""
        self._pause.wait()

    def close(self) -> None:
        """At the end."""
        self._pause.close()

    def settle_monitor(self, look: Look, stopped: Callable[[], bool]) -> None:
        """The monitor's last look belongs to the run: it is waited for, and made up for when no monitor lives.

        Its word on the devices may take a minute: `stopped` is called in every round of that, to show what is new and
        to end the waiting. The rest takes a moment.
        """
        if not look.view.can_control or look.run.attached or phase(look.run) != "ended":
            return
        supervisors.await_monitor(self.directory, seconds=_MONITOR_SECONDS)
        pause = Pause(self.directory, self._fds, ("gpu.jsonl", "monitor.lock"))

        def round_stopped() -> bool:
            pause.wait()
            return stopped()

        is_said = await_return(self.source, pause=round_stopped, say=self._say)
        pause.close()
        if is_said:
            with suppress(OSError):  # on a full disk the last lines stay out of the timeline
                supervisors.finish_monitoring(self.directory, seconds=_MONITOR_SECONDS)

    def end(self, look: Look) -> End:
        """What is to be said of a run that is over; `look` is the one after `settle_monitor`."""
        wanted = expectation(self.source)
        code, code_from = exit_status(look.run, expect_met=wanted is None or wanted.is_met)
        told = wanted is not None and (code, code_from) == (4, "grpotui")
        words = f"{unmet(wanted.steps, wanted.shown)}: exit code 4" if told and wanted is not None else None
        return End(status(self.source, look.view), code, code_from, words)


def is_over(look: Look) -> bool:
    """Whether nothing more is to be waited for."""
    run, view = look.run, look.view
    if run.attached:
        return run.following_ended is not None or not (view.monitor_alive or view.can_control)
    if phase(run) == "ended":
        return True
    if view.place in ("elsewhere", "copy") and not view.shim_alive:
        return True  # nothing more will come to be seen from here
    return verdict(run) is not None and (run.leftovers_kept or bool(run.unkillable))


def goes_on(directory: RunDirectory) -> str:
    """What is said by who leaves a live run."""
    return f"the run goes on: grpotui attach {directory.run_id}"


def interrupt(directory: RunDirectory, say: Say, *, again: bool) -> bool:
    """Hands a Ctrl-C on: INT to the job, the second one the stop plan. Whether the job was reached."""
    try:
        supervisors.ask(directory, "stop" if again else "interrupt", why="Ctrl-C in launch")
    except (StartError, OSError) as error:
        say(f"the job was not reached ({error}); Ctrl-C twice leaves it")
        return False
    if again:
        say("stopping: INT, then TERM, then KILL")
    else:
        say(f"INT sent to the job; Ctrl-C again within {AGAIN_SECONDS:g} s stops it")
    return True


class _Care:
    """What a client does for the run beside showing it."""

    def __init__(self, source: Source, say: Say) -> None:
        self._source = source
        self._say = say
        self._cared_at = float("-inf")
        self._gone_since: float | None = None
        self._said: set[str] = set()
        self.is_unrecorded = False

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
            self._say(text)
