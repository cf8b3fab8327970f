"""What `stop --leftovers` does: it ends what outlived the ranks of one run, and nothing else."""

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from grpotui.following import FrontEnd, front_end
from grpotui.output import say
from grpotui.reach import out_of_reach
from grpotui.watching import Interrupts, Pause
from grpotui_supervisor import leftovers, rundir, supervisors
from grpotui_supervisor.errors import GrpotuiError, UsageError
from grpotui_supervisor.follow import Records
from grpotui_supervisor.model.members import Leftover, MemberState, NotObservable
from grpotui_supervisor.model.run_state import RunState, ending, leading
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.source.changes import Change, Changes, LeftBehind, LeftoverEnded
from grpotui_supervisor.source.liveness import View, settle
from grpotui_supervisor.source.now import look_now, update_now
from grpotui_supervisor.source.source import Source

_WHY = "grpotui stop --leftovers"
_ENDS = ("orphan_exit", "exit", "lost", "not_observable")
_UNRECORDED_S = 2.0
"""A full disk takes no record of an end."""


def end_leftovers(run: str | None, *, yes: bool, as_json: bool) -> int:
    """0 when none is left, 1 when one is, 130 after Ctrl-C.

    Raises:
        UsageError: ranks still run, the run is out of reach, several runs have leftovers, or nobody can be asked.
    """
    root = rundir.root(os.environ)
    directory = rundir.find(run, root) if run else _only(root)
    if directory is None:
        say("no run has leftovers")
        return 0
    source, front = Source(directory), front_end(as_json=as_json)
    view = update_now(source)
    state = settle(source.run, view)
    _check(source, state, view)
    found = leftovers.living(directory.run_id, state) if view.can_control else []
    if not found:
        return _leave(source, front, 0, as_json=as_json)
    front.show(source, [LeftBehind(left) for left in found])
    if not (yes or _agreed(source)):
        say("nothing was sent")
        return 1
    rundir.check_safe(directory.path)
    interrupts, alive = Interrupts(), 0
    for change in _end(source, found, interrupts, supervised=view.shim_alive):
        front.show(source, [change])
        alive += isinstance(change, LeftoverEnded) and change.state is None
    if interrupts.take():
        say("grpotui: no longer waiting")
        return 130
    return _leave(source, front, alive, as_json=as_json)


def _leave(source: Source, front: FrontEnd, alive: int, *, as_json: bool) -> int:
    code = 1 if alive else 0
    if as_json:
        front.end(source, look_now(source)[0], code, "grpotui")
    else:
        say(f"{alive} of them still alive" if alive else f"no process of {source.directory.run_id} is left")
    return code


def _check(source: Source, state: RunState, view: View) -> None:
    run = source.directory.run_id
    if state.attached:
        raise UsageError(f"grpotui did not start the job of {run}: none of its processes is ended")
    if not view.can_control and view.place != "rebooted":
        raise out_of_reach(source.directory, source, view)
    if any(m.is_open for m in leading(state)):
        raise UsageError(f"ranks of {run} still run: end the whole run", hint=f"grpotui stop {run}")


def _agreed(source: Source) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("nobody can be asked whether to end them: this is no terminal", hint=f"{_WHY} --yes")
    question = f"End them? TERM, after {_terminate_s(source):g} s KILL"
    return click.confirm(question, default=False, err=True)


def _terminate_s(source: Source) -> float:
    launch: dict[str, Any] = source.facts.get("profile", {}).get("launch", {})
    seconds = launch.get("terminate_seconds")
    return float(seconds) if isinstance(seconds, int | float) else 10.0


def _end(source: Source, found: list[Leftover], interrupts: Interrupts, *, supervised: bool) -> Iterator[Change]:
    if supervised:
        yield from _asked(source, found, interrupts)
        return
    run, seconds = source.directory.run_id, _terminate_s(source)
    yield from leftovers.end(run, found, terminate_s=seconds, is_interrupted=lambda: interrupts.count > 0)


def _asked(source: Source, found: list[Leftover], interrupts: Interrupts) -> Iterator[Change]:
    """The shim ends them, and its record tells how; they are its children, so that it knows."""
    directory, changes = source.directory, Changes()
    changes.of(source, source.run)
    ends = Records(directory.file("ranks.jsonl"))
    open_ends: dict[tuple[Any, Any], Leftover] = {(left.pid, left.start): left for left in found}
    supervisors.ask(directory, "leftovers", why=_WHY)
    pause, gone_since = Pause(directory, [interrupts.fd]), float("inf")
    while open_ends and not interrupts.count:
        pause.wait()
        view = update_now(source)
        yield from changes.of(source, settle(source.run, view))
        for record in ends.until(source.as_of):
            left = open_ends.pop((record.get("pid"), record.get("start")), None) if record["ev"] in _ENDS else None
            if left is not None:
                yield LeftoverEnded(left, _state(record), tuple(map(str, record.get("sent") or ())))
        lives = any(procfs.is_alive(left.pid, left.start) for left in open_ends.values())
        gone_since = float("inf") if lives else min(gone_since, time.monotonic())
        if source.run.unkillable or time.monotonic() - gone_since > _UNRECORDED_S:
            break
    yield from [_unrecorded(left, source.run) for left in open_ends.values()]


def _unrecorded(left: Leftover, run: RunState) -> LeftoverEnded:
    if not procfs.is_alive(left.pid, left.start):
        return LeftoverEnded(left, NotObservable(leftovers.UNSEEN), ())
    return LeftoverEnded(left, None, (), leftovers.HUNG if left.pid in run.unkillable else "the shim is ending it")


def _state(record: dict[str, Any]) -> MemberState:
    try:
        return ending(record)
    except (KeyError, TypeError, ValueError, OverflowError):
        return NotObservable(leftovers.UNSEEN)


def _only(root: str) -> rundir.RunDirectory | None:
    """The one run that has leftovers; None where there is none.

    Raises:
        UsageError: there are several.
    """
    marks = {procfs.environment(pid).get(procfs.RUN_MARK) for pid in procfs.pids()}
    found = [one for one in rundir.runs(root) if (one.run_id in marks or one.is_locked("shim.lock")) and _has_some(one)]
    if len(found) > 1:
        names = "\n".join(directory.run_id for directory in found)
        raise UsageError(f"{len(found)} runs have leftovers:\n{names}", hint=f"name one: {_WHY} RUN")
    return found[0] if found else None


def _has_some(directory: rundir.RunDirectory) -> bool:
    try:
        source = Source(directory, with_logs=False)
        view = update_now(source)
    except GrpotuiError:  # a damaged run is no reason not to end what another has left
        return False
    state = settle(source.run, view)
    if state.attached or not view.can_control or any(m.is_open for m in leading(state)):
        return False
    return bool(leftovers.living(directory.run_id, state))
