"""`grpotui replay`."""

import json
import os
import time

import click

from grpotui.cli.options import examples, json_option, run_argument
from grpotui.show import status_text
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.moments import parse_moment
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

_EXAMPLES = examples(
    "grpotui replay --at +90",
    "grpotui replay demo-20261129-171500-3f2a --at 2026-11-29T17:16:30 --json",
)


@click.command(epilog=_EXAMPLES)
@run_argument
@click.option("--at", "at", metavar="TIME", help="+SECONDS after the start, or a local date and time (ISO 8601).")
@json_option
def command(run: str | None, at: str | None, *, as_json: bool) -> int:
    """Show RUN as it was on record at TIME; without --at, at its end.

    What is shown is what was shown live at that moment: both are the same fold over the same records.
    """
    root = rundir.root(os.environ)
    directory = rundir.find(run, root) if run else rundir.latest(root)
    source = Source(directory)
    source.update(None if at is None else parse_moment(at, directory))
    if at is not None and source.start_t is None:
        raise UsageError(f"nothing of {directory.run_id} was on record at {at}", hint=_since_when(directory))
    document = status(source)
    click.echo(json.dumps(document) if as_json else status_text(source, document))
    return 0


def _since_when(directory: rundir.RunDirectory) -> str:
    source = Source(directory, with_logs=False)
    source.update(None)
    began = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(source.start_t))
    return f"its first record is of {began}; --at +0 shows it"
