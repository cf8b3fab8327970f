"""What `stop` does to a job that grpotui did not start: it ends the following of its logs, and never the job."""

import time

from grpotui.output import say
from grpotui_supervisor import rundir, supervisors
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.model.run_state import RunState, leading
from grpotui_supervisor.source.liveness import View, settle
from grpotui_supervisor.source.source import Source

_SECONDS = 10.0


def unfollow(source: Source, view: View) -> int:
    """0 when the monitor has ended the following; 1 when it did not answer.

    Raises:
        UsageError: the job's process lives, and who says `stop` means it; or there is nothing to end from here.
    """
    directory = source.directory
    alive = [m.pid for m in leading(settle(source.run, view)) if m.is_open]
    if source.run.following_ended is not None:
        raise UsageError(f"{directory.run_id} is followed no more: {source.run.following_ended}")
    if not view.can_control:
        raise UsageError(f"{directory.run_id} is followed elsewhere, out of reach from here")
    if alive:
        raise UsageError(
            f"grpotui did not start the job of {directory.run_id} and does not own it: nothing was sent to it",
            hint=f"end it yourself: kill -INT {alive[0]}; following ends with it",
        )
    rundir.check_safe(directory.path)
    directory.request("stop", why="grpotui stop")
    supervisors.ensure_monitor(directory, source, view)
    if _ended(source) is None:
        say(f"grpotui: the monitor of {directory.run_id} does not answer; see {directory.file('monitor.err')}")
        return 1
    say(f"{directory.run_id} is followed no more; the job itself was not touched, grpotui did not start it")
    return 0


def _ended(source: Source) -> str | None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        source.update(None)
        run: RunState = source.run
        if run.following_ended is not None:
            return run.following_ended
        time.sleep(0.02)
    return None
