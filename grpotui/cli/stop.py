"""`grpotui stop`."""

import os

import click

from grpotui.cli.options import run_argument
from grpotui.following import follow_stop
from grpotui_supervisor import rundir, supervisors
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.model.run_state import phase
from grpotui_supervisor.source.liveness import look, settle
from grpotui_supervisor.source.source import Source


@click.command()
@run_argument
@click.option("--now", is_flag=True, help="KILL at once.")
def command(run: str | None, *, now: bool) -> int:
    """End RUN: INT, after 10 s TERM, after 10 s KILL, until no process of it is left (the times are the profile's).

    Without RUN the only live run is meant. Returns when the run has ended; Ctrl-C stops waiting, not the stop.
    """
    root = rundir.root(os.environ)
    directory = rundir.find(run, root) if run else _only_live(root)
    source = Source(directory)
    view = look(directory, source.facts)
    source.update(None)
    if phase(settle(source.run, view)) == "ended":
        raise UsageError(f"{directory.run_id} has ended already", hint=f"grpotui status {directory.run_id}")
    if not view.can_control:
        raise UsageError(
            f"{directory.run_id} cannot be reached from here ({view.place})",
            hint=f"stop it on {source.facts.get('host', {}).get('hostname', 'its own host')}",
        )
    rundir.check_safe(directory.path)
    supervisors.ask(directory, "kill" if now else "stop", why="grpotui stop" + (" --now" if now else ""))
    return follow_stop(directory)


def _only_live(root: str) -> rundir.RunDirectory:
    live = [directory for directory in rundir.runs(root) if _is_live(directory)]
    if len(live) == 1:
        return live[0]
    if not live:
        raise UsageError("no run is live", hint="grpotui runs")
    names = "\n  ".join(directory.run_id for directory in live)
    raise UsageError(f"{len(live)} runs are live:\n  {names}", hint="name one: grpotui stop RUN")


def _is_live(directory: rundir.RunDirectory) -> bool:
    if directory.is_locked("shim.lock"):
        return True
    source = Source(directory, with_logs=False)
    source.update(None)
    return phase(settle(source.run, look(directory, source.facts))) == "unsupervised"
