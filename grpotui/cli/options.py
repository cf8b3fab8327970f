"""Options that several commands share, and what they mean."""

from collections.abc import Callable
from typing import Any

import click

from grpotui_supervisor.errors import UsageError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
plain_option: Decorator = click.option(
    "--plain", is_flag=True, help="One line a step on stdout, findings and exits on stderr (the default)."
)
ndjson_option: Decorator = click.option("--json", "as_json", is_flag=True, help="One JSON object a line (NDJSON).")
run_argument: Decorator = click.argument("run", required=False)


def one_of(*, plain: bool, as_json: bool) -> None:
    """Refuses --plain together with --json.

    Raises:
        UsageError: both are given.
    """
    if plain and as_json:
        raise UsageError("--plain and --json exclude each other")
