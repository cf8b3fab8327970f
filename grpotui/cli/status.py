"""`grpotui status`."""

import json
import os

import click

from grpotui.cli.options import json_option, run_argument
from grpotui.text import status_lines
from grpotui_supervisor import rundir, supervisors
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source


@click.command()
@run_argument
@json_option
def command(run: str | None, *, as_json: bool) -> int:
    """Show RUN (an id, a unique beginning of one, or a directory; the newest by default) as it is now."""
    root = rundir.root(os.environ)
    directory = rundir.find(run, root) if run else rundir.latest(root)
    source = Source(directory)
    document, view = look_now(source)
    if supervisors.ensure_monitor(directory, source, view):
        click.echo("grpotui: the run had no monitor; one was started", err=True)
    click.echo(json.dumps(document) if as_json else "\n".join(status_lines(document)))
    return 0
