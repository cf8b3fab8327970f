"""`grpotui launch`."""

import os
import shlex
from collections.abc import Callable
from typing import Any

import click

from grpotui.cli.options import (
    examples,
    ndjson_option,
    one_of,
    plain_option,
    profile_argument,
    working_directory,
)
from grpotui.output import is_screen, say
from grpotui.preflight_text import launch_lines
from grpotui_supervisor import launch, rundir
from grpotui_supervisor.gpu.admission import Found
from grpotui_supervisor.gpu.idle import judge
from grpotui_supervisor.profiles import LoadedProfile, load_profile
from grpotui_supervisor.rundir import RunDirectory

_EXAMPLES = examples(
    "grpotui launch demo",
    "grpotui launch demo --set launch.nproc=4 --set 'launch.env.GRPOTUI_DEMO_FAULT=\"kill\"'",
    "grpotui launch my.toml --set launch.python=/opt/rl/bin/python --detach",
    "grpotui launch my.toml --json > run.ndjson",
)


@click.command(epilog=_EXAMPLES)
@profile_argument
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the profile.")
@click.option("--detach", is_flag=True, help="Return when all ranks are started; print only the run id.")
@click.option("--dry-run", is_flag=True, help="Print exactly what would be started, and start nothing.")
@click.option("--skip-preflight", is_flag=True, help="Start without checking before whether it can work.")
@plain_option
@ndjson_option
def command(  # noqa: PLR0913  (one parameter an option)
    profile: str,
    settings: tuple[str, ...],
    *,
    detach: bool,
    dry_run: bool,
    skip_preflight: bool,
    plain: bool,
    as_json: bool,
) -> int:
    """Start PROFILE (a path, or the name of a shipped one) and follow it.

    On a terminal that is the dashboard, elsewhere a line a step. The run goes on when this terminal closes. In the
    dashboard q asks what becomes of the run, and so does Ctrl-C twice within 2 s. With --plain or --json Ctrl-C sends
    INT to the job; again within 2 s it is stopped with INT, TERM and KILL.

    The exit code is the job's: its first failure's code, or 128 + signal (127 and 126: not started). Else 0, 4 when
    the profile's [expect] is not met, 130 after a stop, 125 when an exit was not seen, 2 for a mistake in the profile,
    3 when a check before the start failed, or its GPUs are not free and [gpus] busy or wait says not to start then.
    """
    one_of(plain=plain, json=as_json)
    one_of(detach=detach, json=as_json)
    environment, cwd = dict(os.environ), working_directory()
    loaded = load_profile(profile, settings=settings)
    if dry_run:
        plan = launch.prepare(loaded, environment, cwd=cwd)
        click.echo("\n".join([_describe(plan, loaded.path), *_gpu_lines(launch.look_at_gpus(plan, environment))]))
        return 0
    _warn_of_network_disk(rundir.root(environment))
    checked = None if skip_preflight else _checked(loaded, environment, cwd)
    if detach:
        from grpotui.cli.detached import report  # noqa: PLC0415  (each way of following loads its own code)

        return report(_start(loaded, environment, cwd, checked))
    from grpotui.watching import Interrupts  # noqa: PLC0415

    pressed: list[Interrupts] = []  # from the start on: a Ctrl-C in the middle of it is for the job, before it for us
    directory = _start(loaded, environment, cwd, checked, ready=lambda: pressed.append(Interrupts()), tell=not as_json)
    if is_screen() and not (plain or as_json):
        from grpotui.tui.opening import live  # noqa: PLC0415  (Textual takes 0.2 s)

        return live(directory, pressed[0], owner=True, control=True)
    from grpotui.following import follow, front_end  # noqa: PLC0415

    return follow(directory, front=front_end(as_json=as_json), interrupts=pressed[0], owner=True)


def _checked(loaded: LoadedProfile, environment: dict[str, str], cwd: str) -> dict[str, Any]:
    """A device of the profile that is not there is a mistake of the profile, which is told before any check."""
    from grpotui.preflighting import before_launch  # noqa: PLC0415  (not for --dry-run and --skip-preflight)

    if loaded.profile.gpus.devices is not None:
        launch.look_at_gpus(launch.prepare(loaded, environment, cwd=cwd), environment)
    return before_launch(loaded, environment, cwd)


def _start(  # noqa: PLR0913  (what `launch.start` is given)
    loaded: LoadedProfile,
    environment: dict[str, str],
    cwd: str,
    checked: dict[str, Any] | None,
    ready: Callable[[], object] = lambda: None,
    *,
    tell: bool = False,
) -> RunDirectory:
    """`tell`: how the checks before ended, where the run did start."""
    checks = None if checked is None else checked["checks"]
    directory = launch.start(
        loaded, environment, cwd=cwd, preflight=checks, ready=ready, say=lambda text: say(f"grpotui: {text}")
    )
    if checked is not None and tell:
        say("\n".join(launch_lines(checked)))
    for note in directory.facts()["notes"]:
        say(f"grpotui: {note}")
    return directory


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


def _gpu_lines(found: Found) -> list[str]:
    """The run's devices and whether they are idle; a dry run waits for none of them."""
    if found.snapshot is None:
        return [f"# GPUs: not looked at: {found.unavailable}"]
    if not found.own:
        return ["# GPUs: none of this machine's are the run's"]
    idle = [f"# {judge(seen).evidence}" for seen in found.snapshot.seen if seen.device.key in found.own]
    return idle + [f"# {note}" for note in found.notes if f"# {note}" not in idle]


def _name(start: launch.Start) -> str:
    return {"rank": f"rank {start.rank}", "driver": "driver"}.get(start.role, f"{start.role} {start.member}")
