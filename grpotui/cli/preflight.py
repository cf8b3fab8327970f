"""`grpotui preflight`."""

from __future__ import annotations

import json
import os
import shutil
import sys

import click

from grpotui.cli.options import examples, json_option, one_of, profile_argument, working_directory
from grpotui.preflight_text import plain_lines, table_lines
from grpotui.preflighting import preflight
from grpotui_supervisor import launch
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.preflight.jobs import job_of
from grpotui_supervisor.preflight.registry import CHECKS
from grpotui_supervisor.profiles import load_profile

_EXAMPLES = examples(
    "grpotui preflight demo",
    "grpotui preflight my.toml --only cuda_init --only collective",
    "grpotui preflight my.toml --generate --bandwidth      also a tiny generation, and the links between the GPUs",
    "grpotui preflight my.toml --json | jq '.checks[] | select(.outcome == \"failed\")'",
)


@click.command(epilog=_EXAMPLES)
@profile_argument
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the profile.")
@click.option("--only", multiple=True, metavar="NAME", help="Run this check alone; may be given several times.")
@click.option("--generate", is_flag=True, help="Also generate a few tokens with the rollout engine (vLLM).")
@click.option("--bandwidth", is_flag=True, help="Also measure how fast the ranks exchange data.")
@click.option("--plain", is_flag=True, help="One line a check (the default without a terminal).")
@json_option
def command(  # noqa: PLR0913  (one parameter an option)
    profile: str,
    settings: tuple[str, ...],
    only: tuple[str, ...],
    *,
    generate: bool,
    bandwidth: bool,
    plain: bool,
    as_json: bool,
) -> int:
    """Check whether PROFILE (a path, or the name of a shipped one) can run here, without starting it.

    Every check has a time limit, changes nothing, and ends all that it started. The exit code is 3 when one failed, 2
    for a mistake in the profile, else 0: a warning, or what could not be checked, does not keep a run from starting.
    """
    one_of(plain=plain, json=as_json)
    known = [check.name for check in CHECKS]
    for name in only:
        if name not in known:
            raise UsageError(f"there is no check {name!r}", hint=f"checks: {', '.join(known)}")
    asked = frozenset(word for word, given in (("generate", generate), ("bandwidth", bandwidth)) if given)
    loaded = load_profile(profile, settings=settings)
    plan = launch.prepare(loaded, dict(os.environ), cwd=working_directory())
    document = preflight(job_of(loaded, plan, on_request=asked), only=only)
    if as_json:
        click.echo(json.dumps(document))
    elif plain or not sys.stdout.isatty():
        click.echo("\n".join(plain_lines(document)))
    else:
        click.echo("\n".join(table_lines(document, shutil.get_terminal_size().columns)))
    return 3 if document["outcome"] == "failed" else 0
