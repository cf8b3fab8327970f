"""grpotui: what a person uses. The command line in `cli`, and the front ends on `grpotui_supervisor.source`."""
