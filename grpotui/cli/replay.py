"""`grpotui replay`."""

import json
import os

import click

from grpotui.cli.options import json_option, run_argument
from grpotui.text import status_lines
from grpotui_supervisor import rundir
from grpotui_supervisor.source.moments import parse_moment
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status


@click.command()
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
    document = status(source)
    click.echo(json.dumps(document) if as_json else "\n".join(status_lines(document)))
    return 0
