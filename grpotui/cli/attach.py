"""`grpotui attach`."""

import os

import click

from grpotui.cli.options import examples, ndjson_option, one_of, plain_option, runs_argument
from grpotui.output import is_screen
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import UsageError

_EXAMPLES = examples(
    "grpotui attach",
    "grpotui attach demo-20261129-171500-3f2a --json",
    "grpotui attach --log train.log --pid 4711",
    "grpotui attach --log logs/rank*.log",
)


@click.command(epilog=_EXAMPLES)
@runs_argument
@click.option("--log", "logs", metavar="FILE", multiple=True, help="A log of a job that grpotui did not start.")
@click.option("--pid", type=click.IntRange(min=1), help="With --log: the job's process, to see how it ends.")
@click.option("--framework", metavar="NAME", help="With --log: trl, verl, …; recognised by default.")
@click.option("--readonly", is_flag=True, help="The dashboard offers nothing that would change the run.")
@plain_option
@ndjson_option
def command(  # noqa: PLR0913  (its options)
    words: tuple[str, ...],
    logs: tuple[str, ...],
    pid: int | None,
    framework: str | None,
    *,
    readonly: bool,
    plain: bool,
    as_json: bool,
) -> int:
    """Follow RUN (an id, a unique beginning of one, or a directory; the newest by default).

    With --log: follow the logs of a job that grpotui did not start, from their beginning on; several are its ranks in
    the given order, unless their names tell the rank, and X.out and X.err are two streams of one process. A run
    directory keeps a copy, so that status, replay and export work on it. The job is never signalled.

    On a terminal that is the dashboard, which q leaves, and Ctrl-C twice within 2 s; elsewhere a line a step, which
    Ctrl-C leaves. Either way the run goes on unchanged. The exit code is the one that `launch` would have had; 125
    where nobody can know it.
    """
    one_of(plain=plain, json=as_json)
    if logs:
        directory = _start([*logs, *words], pid, framework)
    elif pid is not None or framework is not None:
        raise UsageError("--pid and --framework go with --log", hint="grpotui attach --log FILE --pid PID")
    else:
        directory = _find(words)
    from grpotui.watching import Interrupts  # noqa: PLC0415  (a wrong RUN is told without it)

    if is_screen() and not (plain or as_json):
        from grpotui.tui.opening import live  # noqa: PLC0415  (Textual takes 0.2 s)

        return live(directory, Interrupts(), owner=False, control=not (readonly or directory.facts().get("attached")))
    from grpotui.following import follow, front_end  # noqa: PLC0415

    return follow(directory, front=front_end(as_json=as_json), interrupts=Interrupts(), owner=False)


def _start(logs: list[str], pid: int | None, framework: str | None) -> rundir.RunDirectory:
    from grpotui_supervisor import attach  # noqa: PLC0415  (each way of following loads its own code)

    return attach.start(logs, pid=pid, framework=framework or "auto", environment=dict(os.environ))


def _find(words: tuple[str, ...]) -> rundir.RunDirectory:
    root = rundir.root(os.environ)
    if len(words) > 1:
        raise UsageError(f"{len(words)} runs are named: {' '.join(words)}", hint="one at a time; logs go behind --log")
    if words and os.path.isfile(words[0]):
        raise UsageError(f"{words[0]} is a file, no run", hint=f"grpotui attach --log {words[0]}")
    return rundir.find(words[0], root) if words else rundir.latest(root)
