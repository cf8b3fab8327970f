"""`grpotui runs`."""

import json
import os
import time

import click

from grpotui.cli.options import examples, json_option
from grpotui.output import say
from grpotui.text import duration, table
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import GrpotuiError
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source

SCHEMA = 1


@click.command(
    epilog=examples("grpotui runs -n 5", "grpotui runs --json | jq '.runs[] | select(.state == \"running\")'")
)
@json_option
@click.option(
    "-n", "count", type=click.IntRange(min=0), default=20, show_default=True, help="How many, newest first; 0: all."
)
def command(*, as_json: bool, count: int) -> int:
    """List the runs of this machine, newest first."""
    root = rundir.root(os.environ)
    directories = list(rundir.runs(root))
    rows = [_row(directory) for directory in (directories[:count] if count else directories)]
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, "root": root, "runs": rows}))
        return 0
    if not rows:
        say(f"no runs under {root}; start one: grpotui launch demo")
        return 0
    cells = [
        (*(str(r[key] or "-") for key in ("run", "state", "verdict", "ranks")), _since(r["began_t"])) for r in rows
    ]
    click.echo("\n".join(table(("run", "state", "verdict", "ranks", "began"), cells)))
    return 0


def _row(directory: rundir.RunDirectory) -> dict[str, object]:
    try:
        source = Source(directory, with_logs=False)
        document, _ = look_now(source)
    except GrpotuiError as error:
        return {"run": directory.run_id, "state": "unreadable", "verdict": None, "ranks": None, "began_t": None,
                "reason": str(error)}  # fmt: skip
    return {
        "run": directory.run_id,
        "state": document["state"],
        "verdict": document["verdict"],
        "ranks": sum(1 for member in document["ranks"] if member["role"] in ("rank", "driver")),
        "began_t": source.start_t,
        "reason": None,
    }


def _since(moment: object) -> str:
    return f"{duration(time.time() - moment)} ago" if isinstance(moment, float) else "-"
