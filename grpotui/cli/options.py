"""Options and arguments that several commands share, and what they mean."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from grpotui_supervisor.errors import GrpotuiError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def examples(*lines: str) -> str:
    """The end of a help text: command lines to copy, one below the other."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def one_of(**given: bool) -> None:
    """Refuses options that exclude each other: `plain=True, json=True`.

    Raises:
        UsageError: more than one is given.
    """
    names = [f"--{name}" for name, present in given.items() if present]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} exclude each other", hint="give one of them, or none")


def _filled(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value == "":  # an unset variable in a script must not mean "the newest run", least of all to `stop`
        raise UsageError("RUN is empty", hint="leave it out for the newest run, or name one: grpotui runs")
    return value


def _all_filled(context: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        _filled(context, parameter, word)
    return words


def _complete_run(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from grpotui_supervisor import rundir  # noqa: PLC0415  (only a shell asks)

    try:
        return [run.run_id for run in rundir.runs(rundir.root(os.environ)) if run.run_id.startswith(incomplete)]
    except GrpotuiError:
        return []


def _complete_profile(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from grpotui_supervisor.profiles import shipped_profiles  # noqa: PLC0415  (only a shell asks)

    names = [CompletionItem(name) for name in shipped_profiles() if name.startswith(incomplete)]
    return names + click.Path(dir_okay=False).shell_complete(context, parameter, incomplete)


def working_directory() -> str:
    """Where the command was started.

    Raises:
        UsageError: that directory is gone.
    """
    try:
        return os.getcwd()
    except OSError as error:
        raise UsageError(f"the working directory is gone: {error.strerror}", hint="cd to one that exists") from error


json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
plain_option: Decorator = click.option(
    "--plain", is_flag=True, help="No dashboard: a line a step on stdout, findings and exits on stderr."
)
ndjson_option: Decorator = click.option("--json", "as_json", is_flag=True, help="One JSON object a line (NDJSON).")
run_argument: Decorator = click.argument("run", required=False, callback=_filled, shell_complete=_complete_run)
runs_argument: Decorator = click.argument(
    "words", metavar="[RUN]", nargs=-1, callback=_all_filled, shell_complete=_complete_run
)
profile_argument: Decorator = click.argument("profile", shell_complete=_complete_profile)
source_argument: Decorator = click.argument("source", required=False, callback=_filled, shell_complete=_complete_run)
