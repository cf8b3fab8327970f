"""`grpotui launch`."""

import os
import shlex

import click
from click.shell_completion import CompletionItem

from grpotui.cli.options import examples, ndjson_option, one_of, plain_option
from grpotui.output import say
from grpotui_supervisor import launch, rundir
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.profiles import LoadedProfile, load_profile, shipped_profiles
from grpotui_supervisor.rundir import RunDirectory

_EXAMPLES = examples(
    "grpotui launch demo",
    "grpotui launch demo --set launch.nproc=4 --set 'launch.env.GRPOTUI_DEMO_FAULT=\"kill\"'",
    "grpotui launch my.toml --set launch.python=/opt/rl/bin/python --detach",
    "grpotui launch my.toml --json > run.ndjson",
)


def _complete_profile(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [CompletionItem(name) for name in shipped_profiles() if name.startswith(incomplete)]
    return names + click.Path(dir_okay=False).shell_complete(context, parameter, incomplete)


@click.command(epilog=_EXAMPLES)
@click.argument("profile", shell_complete=_complete_profile)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the profile.")
@click.option("--detach", is_flag=True, help="Return when all ranks are started; print only the run id.")
@click.option("--dry-run", is_flag=True, help="Print exactly what would be started, and start nothing.")
@plain_option
@ndjson_option
def command(  # noqa: PLR0913  (one parameter an option)
    profile: str,
    settings: tuple[str, ...],
    *,
    detach: bool,
    dry_run: bool,
    plain: bool,
    as_json: bool,
) -> int:
    """Start PROFILE (a path, or the name of a shipped one) and follow it.

    The run goes on when this terminal closes. Ctrl-C sends INT to the job; again within 2 s it is stopped with INT,
    TERM and KILL.

    The exit code is the job's: its first failure's code, or 128 + signal (127 and 126: not started). Else 0, 4 when
    the profile's [expect] is not met, 130 after a stop, 125 when an exit was not seen, 2 for a mistake in the profile.
    """
    one_of(plain=plain, json=as_json)
    one_of(detach=detach, json=as_json)
    environment, cwd = dict(os.environ), _working_directory()
    loaded = load_profile(profile, settings=settings)
    if dry_run:
        click.echo(_describe(launch.prepare(loaded, environment, cwd=cwd), loaded.path))
        return 0
    _warn_of_network_disk(rundir.root(environment))
    if detach:
        from grpotui.cli.detached import report  # noqa: PLC0415  (each way of following loads its own code)

        return report(_start(loaded, environment, cwd))
    from grpotui.following import Interrupts, follow, front_end  # noqa: PLC0415

    interrupts = Interrupts()  # before the start: a Ctrl-C in the middle of it is for the job
    directory = _start(loaded, environment, cwd)
    return follow(directory, front=front_end(as_json=as_json), interrupts=interrupts, owner=True)


def _start(loaded: LoadedProfile, environment: dict[str, str], cwd: str) -> RunDirectory:
    directory = launch.start(loaded, environment, cwd=cwd)
    for note in directory.facts()["notes"]:
        say(f"grpotui: {note}")
    return directory


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise UsageError(f"the working directory is gone: {error.strerror}", hint="cd to one that exists") from error


def _warn_of_network_disk(root: str) -> None:
    kind = rundir.is_network_file_system(root)
    if kind is not None:
        say(
            f"grpotui: {root} is on a network file system ({kind}): locks and appends may not hold there.\n"
            "  Set GRPOTUI_HOME to a directory on a local disk."
        )


def _describe(plan: launch.Plan, path: str) -> str:
    """Everything that the profile decides, in the form in which a shell would take it."""
    settings = plan.profile.launch
    lines = [f"# {plan.profile.name} ({path})"]
    for start in plan.starts:
        own = {**start.env}
        lines += [f"# {_name(start)}, in {start.cwd}"]
        lines += [" ".join([*(f"{name}={shlex.quote(value)}" for name, value in own.items()), shlex.join(start.argv)])]
    added = {name: value for name, value in plan.environment.items() if os.environ.get(name) != value}
    lines += ["# environment of all of them, on top of this shell's:"]
    lines += [f"{name}={shlex.quote(value)}" for name, value in sorted(added.items())] or ["# nothing"]
    lines += [f"# {note}" for note in plan.notes]
    lines += [
        f"# after a failure: {settings.grace_seconds:g} s, then TERM, after {settings.terminate_seconds:g} s KILL",
        f"# a stop: INT, after {settings.interrupt_seconds:g} s TERM, after {settings.terminate_seconds:g} s KILL",
        f"# leftovers: {settings.leftovers} after {settings.leftover_grace_seconds:g} s",
    ]
    return "\n".join(lines)


def _name(start: launch.Start) -> str:
    return {"rank": f"rank {start.rank}", "driver": "driver"}.get(start.role, f"{start.role} {start.member}")
