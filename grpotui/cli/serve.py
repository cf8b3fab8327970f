"""`grpotui serve`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from grpotui.cli.options import examples, source_argument
from grpotui.output import say
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.opening import open_source

if TYPE_CHECKING:
    from grpotui.web.server import Server

PORT = 8642
"""Stands in the help text too."""
_EXAMPLES = examples(
    "grpotui serve                               all runs of this machine",
    "grpotui serve demo-20261129-171500-3f2a     one run",
)


@click.command(epilog=_EXAMPLES)
@source_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address; others are refused.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any free one.")
def command(source: str | None, *, host: str, port: int) -> int:
    """Show the dashboard in a browser, read-only: all runs, or SOURCE (a run or a log, as for replay).

    It listens on this machine's loopback only. From another machine it is reached through an SSH tunnel, which is
    started there: ssh -L 8642:127.0.0.1:8642 gpu-machine

    The address has a token that is new with every start: whoever has the address may look, and nobody can change a
    run. Requests by another host name or from another site's page are refused. Ctrl-C ends it and every window.
    """
    try:
        from grpotui.web import server as web  # noqa: PLC0415  (an extra, and 0.3 s)
    except ModuleNotFoundError as error:
        raise UsageError(f"grpotui serve needs {error.name}", hint="pip install 'grpotui[web]'") from None
    if source == "-":
        raise UsageError("standard input cannot be served", hint="name a file")
    if source is not None:
        open_source(source, rundir.root(os.environ))  # what cannot be opened is said here, not in a browser
    words = [] if source is None else [os.path.abspath(source) if os.path.exists(source) else source]
    server = web.Server(words, title=f"grpotui {source or ''}".strip(), host=host, port=port)
    import asyncio  # noqa: PLC0415

    try:
        asyncio.run(web.serve(server, _said))
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror or error}", hint="--port 0 takes any free port"
        ) from error
    return 0


def _said(server: Server) -> None:
    from grpotui.web.server import tunnel  # noqa: PLC0415

    say(f"grpotui: read-only at {server.url}")
    say(f"  from another machine, first: {tunnel(server.port)}")
    say("  the address is the key: whoever has it may look. Ctrl-C ends it.")
