"""What `launch --detach` says: the run id when everything was started, or why something was not."""

import click

from grpotui_supervisor import launch
from grpotui_supervisor.model.members import FailedToStart, exit_code
from grpotui_supervisor.rundir import RunDirectory


def report(directory: RunDirectory) -> int:
    """Waits for the spawn; 0, or the code of the start that failed."""
    run = launch.wait_for_spawn(directory).run
    click.echo(directory.run_id)
    for member in run.members.values():
        if isinstance(member.state, FailedToStart) and member.state.errno is not None:
            click.echo(f"grpotui: {member.role} {member.key} could not be started: {member.state.error}", err=True)
            return exit_code(member.state) or 1
    return 0
