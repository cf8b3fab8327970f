"""`grpotui launch`."""

import os
import shlex

import click

from grpotui.cli.options import ndjson_option, one_of, plain_option
from grpotui_supervisor import launch, rundir
from grpotui_supervisor.profiles import load_profile


@click.command()
@click.argument("profile")
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
    r"""Start PROFILE (a path, or the name of a shipped one) and follow it.

    The run goes on when this terminal closes. Ctrl-C sends INT to the job; again within 2 s it is stopped with INT,
    TERM and KILL. The exit code is the job's: its first failure's code, or 128 + signal.

    \b
    grpotui launch demo
    grpotui launch demo --set launch.nproc=4 --set 'launch.env.GRPOTUI_DEMO_FAULT="kill"'
    grpotui launch my.toml --set launch.python=/opt/rl/bin/python --detach
    """
    one_of(plain=plain, as_json=as_json)
    environment = dict(os.environ)
    loaded = load_profile(profile, settings=settings)
    if dry_run:
        click.echo(_describe(launch.prepare(loaded, environment, cwd=os.getcwd()), loaded.path))
        return 0
    _warn_of_network_disk(rundir.root(environment))
    directory = launch.start(loaded, environment, cwd=os.getcwd())
    if detach:
        from grpotui.cli.detached import report  # noqa: PLC0415  (each way of following loads its own code)

        return report(directory)
    from grpotui.following import follow  # noqa: PLC0415

    return follow(directory, as_json=as_json, owner=True)


def _warn_of_network_disk(root: str) -> None:
    kind = rundir.is_network_file_system(root)
    if kind is not None:
        click.echo(
            f"grpotui: {root} is on a network file system ({kind}): locks and appends may not hold there.\n"
            "  Set GRPOTUI_HOME to a directory on a local disk.",
            err=True,
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
    lines += [
        f"# after a failure: {settings.grace_seconds:g} s, then TERM, after {settings.terminate_seconds:g} s KILL",
        f"# a stop: INT, after {settings.interrupt_seconds:g} s TERM, after {settings.terminate_seconds:g} s KILL",
        f"# leftovers: {settings.leftovers} after {settings.leftover_grace_seconds:g} s",
    ]
    return "\n".join(lines)


def _name(start: launch.Start) -> str:
    return {"rank": f"rank {start.rank}", "driver": "driver"}.get(start.role, f"{start.role} {start.member}")
