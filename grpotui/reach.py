"""Runs that nothing can be sent to from here, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.liveness import View
    from grpotui_supervisor.source.source import Source


def out_of_reach(directory: RunDirectory, source: Source, view: View) -> UsageError:
    """Why nothing can be sent to a run from here."""
    if view.place == "copy":
        original = source.facts.get("directory", "its own directory")
        return UsageError(f"{directory.path} is a copy: it controls nothing", hint=f"the run itself: {original}")
    host = source.facts.get("host", {}).get("hostname", "its own host")
    where = "another host" if view.place == "elsewhere" else "another container (pid namespace)"
    return UsageError(f"{directory.run_id} runs on {where}, out of reach from here", hint=f"stop it there: {host}")
