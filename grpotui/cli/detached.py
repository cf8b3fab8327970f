"""What `launch --detach` says: the run id when everything was started, or why something was not."""

import click

from grpotui.output import say
from grpotui.text import ending, member_name
from grpotui_supervisor import launch
from grpotui_supervisor.model.members import FailedToStart, exit_code
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.status import state_fields


def report(directory: RunDirectory) -> int:
    """Waits for the spawn; 0, or the code of the start that failed."""
    try:
        run = launch.wait_for_spawn(directory).run
    except KeyboardInterrupt:
        click.echo(directory.run_id)
        say(f"grpotui: no longer waiting for the start; the run goes on: grpotui status {directory.run_id}")
        return 130
    click.echo(directory.run_id)
    for member in run.members.values():
        if isinstance(member.state, FailedToStart) and member.state.errno is not None:
            fields = {"role": member.role, "rank": member.rank, "member": member.key, **state_fields(member.state)}
            say(f"grpotui: {member_name(fields)} {ending(fields)}")
            return exit_code(member.state) or 1
    return 0
