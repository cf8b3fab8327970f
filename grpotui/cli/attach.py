"""`grpotui attach`."""

import os

import click

from grpotui.cli.options import examples, ndjson_option, one_of, plain_option, run_argument
from grpotui_supervisor import rundir

_EXAMPLES = examples("grpotui attach", "grpotui attach demo-20261129-171500-3f2a --json")


@click.command(epilog=_EXAMPLES)
@run_argument
@plain_option
@ndjson_option
def command(run: str | None, *, plain: bool, as_json: bool) -> int:
    """Follow RUN (an id, a unique beginning of one, or a directory; the newest by default).

    Ctrl-C detaches and changes nothing in the run. The exit code is the one that `launch` would have had.
    """
    one_of(plain=plain, json=as_json)
    root = rundir.root(os.environ)
    directory = rundir.find(run, root) if run else rundir.latest(root)
    from grpotui.following import Interrupts, follow, front_end  # noqa: PLC0415  (a wrong RUN is told without it)

    return follow(directory, front=front_end(as_json=as_json), interrupts=Interrupts(), owner=False)
