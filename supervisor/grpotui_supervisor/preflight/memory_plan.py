"""The memory plan on the cards that the job will see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import psutil

from grpotui_supervisor import launch, planning
from grpotui_supervisor.errors import PlanError, UsageError
from grpotui_supervisor.plan.advice import advice
from grpotui_supervisor.plan.cache_plan import starved
from grpotui_supervisor.plan.machine import Machine
from grpotui_supervisor.plan.units import both, gb
from grpotui_supervisor.preflight import framework, said
from grpotui_supervisor.preflight.check import Result

if TYPE_CHECKING:
    from grpotui_supervisor.plan.memory import MemoryPlan, Phase
    from grpotui_supervisor.planning import Command, Planned
    from grpotui_supervisor.preflight.check import Job, Outcome

_OUTCOMES: Final[dict[str, Outcome]] = {
    "free": "passed", "comfortable": "passed", "tight": "warning", "does not fit": "failed",
}  # fmt: skip


class _MemoryPlan:
    name = "memory_plan"
    title = "Memory plan"
    limit_s = 15.0

    def run(self, job: Job) -> Result:
        """Verdict of the fullest phase of a card, and of the host."""
        if said.command(job).kind is None:
            return said.NOTHING
        machine, where = _machine(job)
        if machine is None:
            return Result(outcome=_without(where), evidence=where)
        try:
            planned = planning.of_profile(
                job.loaded.profile, machine, folder=said.folder(job), environment=job.environment
            )
        except PlanError as error:
            return Result(outcome="unchecked", evidence=str(error), next=error.hint)
        assert planned.memory is not None  # noqa: S101  (there is a machine)
        short = starved(planned.request, planned.memory)
        if short and planned.memory.whole != "does not fit":
            return Result(outcome="failed", evidence=short[0].evidence, next=short[0].next, details=(where,))
        return _result(planned, planned.memory, where)


_NO_CARDS: Final = "no GPU of this machine is the run's"


def _without(where: str) -> Outcome:
    return "not_applicable" if where == _NO_CARDS else "unchecked"


def _machine(job: Job) -> tuple[Machine | None, str]:
    """The cards that are planned for and in words whose they are; or why there are none."""
    profile, command = job.loaded.profile, said.command(job)
    try:
        found = launch.look_at_gpus(job.plan, job.environment)
    except UsageError as error:
        return None, str(error)
    if found.snapshot is None:
        known = planning.machine_of(profile)
        if known is None:
            return None, f"{found.unavailable}; [gpus] cards does not say what the job is for"
        return known, f"for the profile's {profile.gpus.cards}, as this machine's cards cannot be read"
    sizes = [one.device.total_bytes for one in found.snapshot.seen if one.device.key in found.own]
    if not sizes:
        return None, _NO_CARDS
    if None in sizes:
        return None, "a card of the run does not tell its memory"
    card = min(size for size in sizes if size is not None)
    machine = Machine(cards=command.world, card_bytes=card, host_bytes=_host_bytes(command))
    return machine, f"on this machine's {len(sizes)} of {both(card)}"


def _host_bytes(command: Command) -> int | None:
    """Memory of this host; None where the job has parts on others, whose share of the plan is not worked out."""
    return int(psutil.virtual_memory().total) if framework.nodes(command) == 1 else None


def _result(planned: Planned, memory: MemoryPlan, where: str) -> Result:
    fullest, verdict = memory.fullest, memory.whole
    words = advice(planned.request, memory)
    host = "" if not memory.host else f"; host {gb(memory.host_total)}"
    if memory.host and memory.machine.host_bytes is not None:
        host += f" of {gb(memory.machine.host_bytes)}"
    return Result(
        outcome=_OUTCOMES[verdict],
        evidence=f"{verdict}: {_phase(memory, fullest)} in the phase {fullest.name!r}, {where}{host}",
        next="; or ".join(words[:3]) or None,
        details=(
            *(f"{phase.name}: {_phase(memory, phase)}, {memory.verdict(phase)}" for phase in memory.phases),
            *(f"not counted: {word}" for word in memory.unknown),
        ),
        data={
            "verdict": verdict,
            "cards": memory.machine.cards,
            "card_bytes": memory.machine.card_bytes,
            "phases": {phase.name: phase.total for phase in memory.phases},
            "host_bytes": memory.host_total,
        },
    )


def _phase(memory: MemoryPlan, phase: Phase) -> str:
    card = memory.machine.card_bytes
    return f"{gb(phase.total)} of {gb(card)} ({phase.total / card:.0%})"


CHECK = _MemoryPlan()
