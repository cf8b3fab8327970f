"""`grpotui attach`."""

import os

import click

from grpotui.cli.options import ndjson_option, one_of, plain_option, run_argument
from grpotui_supervisor import rundir


@click.command()
@run_argument
@plain_option
@ndjson_option
def command(run: str | None, *, plain: bool, as_json: bool) -> int:
    """Follow RUN (an id, a unique beginning of one, or a directory; the newest by default).

    Ctrl-C detaches and changes nothing in the run. The exit code is the one that `launch` would have had.
    """
    one_of(plain=plain, as_json=as_json)
    root = rundir.root(os.environ)
    directory = rundir.find(run, root) if run else rundir.latest(root)
    from grpotui.following import follow  # noqa: PLC0415

    return follow(directory, as_json=as_json, owner=False)
