"""Batch sizes: every rule of divisibility, with its numbers and the nearest values that keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor import planning
from grpotui_supervisor.preflight import said

if TYPE_CHECKING:
    from grpotui_supervisor.preflight.check import Job, Result


class _Batches:
    name = "batches"
    title = "Batch sizes"
    limit_s = 5.0

    def run(self, job: Job) -> Result:
        """The rules of verl or TRL on what the job says."""
        command = said.command(job)
        if command.kind is None:
            return said.NOTHING
        found = planning.batches_of(job.loaded.profile, command)
        settings = command.settings
        return said.of_rules(found.facts, found.broken, [*settings.mistakes, *settings.misspelled(command.own)])


CHECK = _Batches()
