"""`grpotui stop`."""

import os

import click

from grpotui.cli.options import examples, ndjson_option, one_of, plain_option, run_argument
from grpotui.following import follow_stop, front_end
from grpotui.reach import out_of_reach
from grpotui.watching import Interrupts
from grpotui_supervisor import rundir, supervisors
from grpotui_supervisor.errors import GrpotuiError, UsageError
from grpotui_supervisor.model.run_state import phase
from grpotui_supervisor.source.liveness import look, settle
from grpotui_supervisor.source.source import Source

_EXAMPLES = examples("grpotui stop", "grpotui stop demo-20261129-171500-3f2a --now", "grpotui stop --leftovers")


@click.command(epilog=_EXAMPLES)
@run_argument
@click.option("--now", is_flag=True, help="KILL at once.")
@click.option("--leftovers", is_flag=True, help="End only what outlived the ranks of RUN; asks first.")
@click.option("--yes", is_flag=True, help="With --leftovers: do not ask.")
@plain_option
@ndjson_option
def command(  # noqa: PLR0913  (one parameter an option)
    run: str | None, *, now: bool, leftovers: bool, yes: bool, plain: bool, as_json: bool
) -> int:
    """End RUN: INT, after 10 s TERM, after 10 s KILL, until no process of it is left (the times are the profile's).

    Without RUN the only live run is meant. Returns when the run has ended; Ctrl-C stops waiting, not the stop.
    Of a job that grpotui did not start (attach --log) nothing is ended but the following of its logs.

    With --leftovers: lists what lives although every rank of RUN has ended, with the GPU memory that it holds, asks,
    and ends it: TERM, after 10 s KILL, and only processes that are the run's. Without RUN the only run with leftovers.
    """
    one_of(plain=plain, json=as_json)
    one_of(now=now, leftovers=leftovers)
    if leftovers:
        from grpotui.cli.leftovers import end_leftovers  # noqa: PLC0415  (each way of stopping loads its own code)

        return end_leftovers(run, yes=yes, as_json=as_json)
    if yes:
        raise UsageError("--yes goes with --leftovers", hint="grpotui stop --leftovers --yes")
    root = rundir.root(os.environ)
    directory = rundir.find(run, root) if run else _only_live(root)
    source = Source(directory)
    view = look(directory, source.facts)
    source.update(None)
    if source.run.attached:
        from grpotui.cli.unfollow import unfollow  # noqa: PLC0415  (a job that is not ours is the exception)

        return unfollow(source, view)
    if phase(settle(source.run, view)) == "ended":
        raise UsageError(f"{directory.run_id} has ended already", hint=f"grpotui status {directory.run_id}")
    if not view.can_control:
        raise out_of_reach(directory, source, view)
    rundir.check_safe(directory.path)
    interrupts = Interrupts()
    supervisors.ask(directory, "kill" if now else "stop", why="grpotui stop" + (" --now" if now else ""))
    return follow_stop(directory, front=front_end(as_json=as_json), interrupts=interrupts)


def _only_live(root: str) -> rundir.RunDirectory:
    live = [directory for directory in rundir.runs(root) if _is_live(directory)]
    if len(live) == 1:
        return live[0]
    if not live:
        raise UsageError("no run is live that grpotui could stop", hint="all runs: grpotui runs")
    names = "\n".join(directory.run_id for directory in live)
    raise UsageError(f"{len(live)} runs are live:\n{names}", hint="name one: grpotui stop RUN")


def _is_live(directory: rundir.RunDirectory) -> bool:
    if directory.is_locked("shim.lock"):
        return True
    try:
        source = Source(directory, with_logs=False)
        source.update(None)
    except GrpotuiError:  # a damaged run that nobody owns is no reason not to stop another
        return False
    if source.run.attached:  # not ours to end
        return False
    return phase(settle(source.run, look(directory, source.facts))) == "unsupervised"
