"""`grpotui status`."""

import json
import os

import click

from grpotui.cli.options import examples, json_option, run_argument
from grpotui.monitoring import keep_monitored
from grpotui.output import say
from grpotui.show import status_text
from grpotui_supervisor import rundir
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source

_EXAMPLES = examples("grpotui status", "grpotui status demo-2026 --json | jq .verdict")


@click.command(epilog=_EXAMPLES)
@run_argument
@json_option
def command(run: str | None, *, as_json: bool) -> int:
    """Show RUN (an id, a unique beginning of one, or a directory; the newest by default) as it is now."""
    root = rundir.root(os.environ)
    directory = rundir.find(run, root) if run else rundir.latest(root)
    source = Source(directory)
    document, view = look_now(source)
    click.echo(json.dumps(document) if as_json else status_text(source, document))
    notice = keep_monitored(directory, source, view)
    if notice is not None:
        say(f"grpotui: {notice}")
    return 0
