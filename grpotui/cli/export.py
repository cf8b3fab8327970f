"""`grpotui export`."""

import os
import sys
from typing import BinaryIO

import click

from grpotui.cli.options import examples, source_argument
from grpotui.export import FORMATS
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.opening import open_source

_EXAMPLES = examples(
    "grpotui export train.log --to csv --output train.csv",
    "grpotui export --to jsonl | jq .metrics",
)


@click.command(epilog=_EXAMPLES)
@source_argument
@click.option("--to", "form", type=click.Choice([name for name, _ in FORMATS]), required=True, help="The format.")
@click.option("--output", "-o", "path", metavar="FILE", help="Write to FILE, which must not exist; else to stdout.")
def command(source: str | None, form: str, path: str | None) -> int:
    """Write all metrics of SOURCE (a run or a log file; the newest run by default) in another program's format.

    Canonical names come first, the framework's own keys beside them. A metric that a step did not print is absent.
    """
    opened = open_source(source, rundir.root(os.environ))
    if isinstance(opened, FileSource):
        opened.read()
    else:
        opened.update(None)
    if not opened.logs.steps:
        raise UsageError("there are no metrics in it to export", hint="grpotui replay shows what is there")
    with _open(path, form) as out:
        dict(FORMATS)[form](opened.logs, out)
    return 0


def _open(path: str | None, form: str) -> BinaryIO:
    if path is None:
        if form == "parquet" and sys.stdout.isatty():
            raise UsageError("parquet is no text for a terminal", hint="name a file: --output FILE")
        return open(sys.stdout.fileno(), "wb", closefd=False)
    try:
        return open(path, "xb")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
