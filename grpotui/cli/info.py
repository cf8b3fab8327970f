"""`grpotui info`."""

import json
import os
import platform
import sys

import click

from grpotui.cli.options import examples, json_option
from grpotui_supervisor import __version__, facts, profiles, rundir
from grpotui_supervisor.probes.kernel import can_see_foreign_exits

SCHEMA = 1


@click.command(epilog=examples("grpotui info", "grpotui info --json"))
@json_option
def command(*, as_json: bool) -> int:
    """Show paths, versions, and what this kernel can tell of processes."""
    root = rundir.root(os.environ)
    document = {
        "schema": SCHEMA,
        "grpotui": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "root": root,
        "root_network_file_system": rundir.is_network_file_system(root),
        "profiles": profiles.shipped_profiles(),
        "host": facts.host(),
        "foreign_exit_status": can_see_foreign_exits(),
    }
    click.echo(json.dumps(document) if as_json else "\n".join(_lines(document)))
    return 0


def _lines(document: dict[str, object]) -> list[str]:
    kind = document["root_network_file_system"]
    host = document["host"]
    foreign = document["foreign_exit_status"]
    seen = "the kernel tells it (PIDFD_GET_INFO)" if foreign else "not told by this kernel (needs Linux 6.15)"
    names = document["profiles"]
    return [
        f"grpotui    {document['grpotui']} on Python {document['python']} ({document['executable']})",
        f"runs       {document['root']}/runs" + (f" (on {kind}: use a local disk)" if kind else ""),
        f"host       {host['hostname']}, Linux {host['kernel']}" if isinstance(host, dict) else "",
        f"exit status of a launcher's workers: {seen}",
        "profiles   " + " ".join(sorted(names)) if isinstance(names, dict) else "",
    ]
