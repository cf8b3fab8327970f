"""The command line: arguments in, exit code out. One file a command, imported only when it is used.

This is the only place where an error of the user's becomes a message and an exit code.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, NoReturn

import click

from grpotui import output
from grpotui.output import say
from grpotui_supervisor import __version__
from grpotui_supervisor.errors import GrpotuiError, ProfileError

COMMANDS: tuple[tuple[str, str], ...] = (
    ("launch", "Start a run and follow it; it outlives this terminal."),
    ("attach", "Follow a run, or with --log a job that grpotui did not start."),
    ("status", "What the operating system said of every rank."),
    ("runs", "All runs of this machine, newest first."),
    ("gpus", "Every GPU: idle or not, who holds it, and for which run."),
    ("stop", "End a run: INT, then TERM, then KILL."),
    ("replay", "A run as it was at a moment, or what a log file tells."),
    ("serve", "The dashboard in a browser: loopback only, read-only."),
    ("preflight", "Whether a job can run here: CUDA, ranks, versions, host, data."),
    ("plan", "What a job will need: memory of each card, KV cache, batches."),
    ("export", "Metrics or samples as JSON lines, CSV, Parquet, TensorBoard."),
    ("info", "Paths, versions, and what this kernel can tell."),
)
"""Name and help of each command; its code is `grpotui.cli.<name>.command`."""

_EXAMPLES = """\b
Examples:
  grpotui                        all runs of this machine
  grpotui launch demo            a tiny GRPO run, no GPU needed
  grpotui launch profile.toml    your own
  grpotui status                 what became of it
  grpotui stop                   end it
"""
_PIPE_CLOSED = 141
"""128 + SIGPIPE, as a shell shows a program whose reader has gone."""


class _Lazy(click.Group):
    """Knows its commands by name and help, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's interface)
        return [name for name, _ in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in dict(COMMANDS):
            return None
        command = importlib.import_module(f"grpotui.cli.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # noqa: PLC0415  (only for a mistake)

            near = difflib.get_close_matches(args[0], dict(COMMANDS), 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"{error.message}{hint}", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (click's interface)
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader has gone; click would call that a failure
            return _PIPE_CLOSED


@click.group(
    cls=_Lazy,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.option("--readonly", is_flag=True, help="The start screen offers nothing that would change a run.")
@click.version_option(__version__, prog_name="grpotui")
@click.pass_context
def cli(context: click.Context, *, readonly: bool) -> int:
    """Start GRPO and PPO training, watch it, and know how every rank really ended.

    Without a command, on a terminal: all runs of this machine and its GPUs, from which one is opened.
    """
    if context.invoked_subcommand is not None:
        if readonly:
            raise click.UsageError("--readonly here is for the start screen; attach has its own", context)
        return 0
    if not output.is_screen():
        raise click.exceptions.NoArgsIsHelpError(context)
    from grpotui.tui.app import Rights  # noqa: PLC0415  (Textual takes 0.2 s)
    from grpotui.tui.opening import home  # noqa: PLC0415
    from grpotui_supervisor import rundir  # noqa: PLC0415

    return home(rundir.root(os.environ), Rights(control=not readonly))


def main() -> NoReturn:
    """Entry of the `grpotui` command."""
    output.prepare()
    sys.exit(output.leave(_run()))


def _run() -> int:
    try:
        code = cli.main(prog_name="grpotui", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        say("grpotui: interrupted")
        return 130
    except GrpotuiError as error:
        show(error)
        return error.exit_code
    except OSError as error:  # whatever the system refused: a message, never a traceback
        where = f": {error.filename}" if error.filename else ""
        say(f"grpotui: the system refused it: {error.strerror}{where}")
        return 1
    return code if isinstance(code, int) else 0


def show(error: GrpotuiError) -> None:
    """Prints an error on stderr: what failed, its evidence, and what to do next."""
    say(f"grpotui: {error}")
    if isinstance(error, ProfileError):
        for problem in error.problems:
            click.echo(problem, err=True)  # quoted lines of the file, made harmless where they were read
    if error.hint:
        say(f"  {error.hint}")
