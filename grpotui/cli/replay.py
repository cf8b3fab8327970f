"""`grpotui replay`."""

import json
import os
import time

import click

from grpotui.cli.options import examples, json_option, one_of, source_argument
from grpotui.output import is_screen, say
from grpotui.progress import Progress
from grpotui.show import log_text, status_text, step_lines
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.moments import parse_moment, parse_step
from grpotui_supervisor.source.opening import open_source
from grpotui_supervisor.source.reading import count_bytes
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

_EXAMPLES = examples(
    "grpotui replay --at +90",
    "grpotui replay demo-20261129-171500-3f2a --at 2026-11-29T17:16:30 --json",
    "grpotui replay train.log --plain",
    "grpotui replay old.log.gz --at 120",
)


@click.command(epilog=_EXAMPLES)
@source_argument
@click.option("--at", "at", metavar="STEP|TIME", help="A step, +SECONDS after the start, or a local date and time.")
@click.option("--plain", is_flag=True, help="Every step on a line, then the state.")
@json_option
def command(source: str | None, at: str | None, *, plain: bool, as_json: bool) -> int:
    """Show SOURCE as it was on record at STEP or TIME; without --at, at its end.

    SOURCE is a run (id, beginning of one, or directory; the newest by default), a log file (plain, .gz or .zst), verl's
    file log, a trainer_state.json, a TensorBoard event file, a folder with such files (its newest run), or - for
    standard input. Of a run, what is shown is what was shown live at that moment: both are the same fold over the same
    records. A bare log tells steps and metrics, and what it cannot tell is said. A log of no known framework is no
    error: it says what it begins with.
    """
    one_of(plain=plain, json=as_json)
    opened = open_source(source, rundir.root(os.environ))
    if isinstance(opened, FileSource):
        return _replay_log(opened, at, plain=plain, as_json=as_json)
    moment = None if at is None else parse_moment(at, opened.directory)
    if is_screen() and not (plain or as_json):
        from grpotui.tui.opening import replay  # noqa: PLC0415  (Textual takes 0.2 s)

        return replay(opened.directory, moment)
    with Progress("reading", opened.directory.run_id) as progress:
        count_bytes(opened, progress)
        opened.update(moment)
    if at is not None and opened.start_t is None:
        raise UsageError(f"nothing of {opened.directory.run_id} was on record at {at}", hint=_since_when(opened))
    document = status(opened)
    if plain:
        click.echo(step_lines(opened.logs, opened.logs.steps), nl=False)
    click.echo(json.dumps(document) if as_json else status_text(opened, document))
    return 0


def _replay_log(log: FileSource, at: str | None, *, plain: bool, as_json: bool) -> int:
    step = None if at is None else parse_step(at)
    if at is not None and step is None:
        raise UsageError(f"--at {at!r} is no step", hint="a bare log has no times: give the number of a step")
    if is_screen() and not (plain or as_json):
        from grpotui.tui import opening  # noqa: PLC0415  (Textual takes 0.2 s)

        return opening.log(log, step)
    with Progress("reading", log.path) as progress:
        log.read(progress)
    for note in log.notes:
        say(note)
    rows = log.logs.steps if step is None else log.at(step)
    document = log.status(rows)
    if plain:
        click.echo(step_lines(log.logs, rows), nl=False)
    click.echo(json.dumps(document) if as_json else log_text(document))
    return 0


def _since_when(source: Source) -> str:
    whole = Source(source.directory, with_logs=False)
    whole.update(None)
    began = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(whole.start_t))
    return f"its first record is of {began}; --at +0 shows it"
