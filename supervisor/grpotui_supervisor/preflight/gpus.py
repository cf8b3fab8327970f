"""The run's GPUs: as many as it has ranks, idle, with the room that the plan needs, and without signs of a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grpotui_supervisor import launch, planning
from grpotui_supervisor.errors import PlanError, UsageError
from grpotui_supervisor.gpu import kernel_log, visible
from grpotui_supervisor.model.wording import size
from grpotui_supervisor.model.xids import xid_kind
from grpotui_supervisor.plan.machine import Machine
from grpotui_supervisor.preflight import framework, said
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui_supervisor.gpu.admission import Found
    from grpotui_supervisor.gpu.idle import Seen
    from grpotui_supervisor.preflight.check import Job

_OWN_CONTEXT: Final = 600 << 20
"""Of the job's own process, before it asks how much is free."""


class _Gpus:
    name = "gpus"
    title = "GPUs"
    limit_s = 15.0
    group = "gpu"

    def run(self, job: Job) -> Result:
        """Reads only; a driver that hangs is given 10 s."""
        try:
            found = launch.look_at_gpus(job.plan, job.environment)
        except UsageError as error:
            return Result(outcome="failed", evidence=str(error), next=error.hint)
        wanted = framework.gpus_wanted(job)
        if found.snapshot is None:
            outcome = "not_applicable" if wanted is None else "unchecked"
            return Result(outcome=outcome, evidence=str(found.unavailable))  # type: ignore[arg-type]
        own = [seen for seen in found.snapshot.seen if seen.device.key in found.own]
        hidden = list(_visible(job, found))
        if not own and wanted is None and not hidden:
            return Result(outcome="not_applicable", evidence="no GPU of this machine is the run's")
        findings = [
            *counted(own, wanted),
            *hidden,
            *lost(own),
            *_busy(job, found),
            *roomy(own, _needs(job, own)),
            *healthy(own, kernel_log.xids()),
        ]
        return together(findings, {"gpus": [seen.device.uuid for seen in own], "wanted": wanted})


def counted(own: Sequence[Seen], wanted: int | None) -> Iterator[Finding]:
    """`wanted`: None where the job does not say."""
    names = sorted({str(seen.device.name) for seen in own})
    words = f"{len(own)} GPU{'s' if len(own) != 1 else ''} ({', '.join(names)})" if own else "no GPU"
    if wanted is not None and len(own) < wanted:
        yield Finding(
            "failed", f"{words} for {wanted} ranks on this machine", f"{len(own)} ranks, or more GPUs visible"
        )
    elif wanted is not None and len(own) > wanted:
        yield Finding("passed", f"{words}, {len(own) - wanted} of them without a rank")
    else:
        yield Finding("passed", words)
    if len(names) > 1:
        yield Finding(
            "warning", f"unlike GPUs: {', '.join(names)}", "all ranks wait for the slowest, and the smallest counts"
        )


def _visible(job: Job, found: Found) -> Iterator[Finding]:
    """What CUDA_VISIBLE_DEVICES names and CUDA will not show: everything behind the first word that fits no device."""
    assert found.snapshot is not None  # noqa: S101  (the caller has one)
    devices = [seen.device for seen in found.snapshot.seen]
    values = {({**job.environment, **start.env}).get(visible.VARIABLE) for start in job.plan.starts}
    for value in sorted(one for one in values if one):
        words, shown = value.split(","), visible.seen_by_cuda(value, devices)
        if len(shown) >= len(words):
            continue
        how = "behind a word that fits no device all are hidden, and one that is named twice hides all"
        if any(device.parent for device in shown):
            how = "of MIG instances CUDA shows one to a process"
        yield Finding("warning", f"{visible.VARIABLE}={value} names {len(words)}, and CUDA shows {len(shown)}: {how}",
                      "numbers below the count, or UUIDs of `nvidia-smi -L`, each once")  # fmt: skip


def lost(own: Sequence[Seen]) -> Iterator[Finding]:
    """Devices that do not answer."""
    for seen in own:
        why = seen.reading.lost or seen.device.unavailable
        if why is not None:
            yield Finding(
                "failed", f"{seen.label} does not answer: {why}", "see dmesg; a reset of the GPU, or a reboot"
            )


def _busy(job: Job, found: Found) -> Iterator[Finding]:
    """Who is there. Whether a launch goes on then is what `[gpus] busy` and `wait` say."""
    gpus = job.loaded.profile.gpus
    for obstacle in found.obstacles:
        if gpus.wait is not None:
            yield Finding("warning", obstacle.text, f"the launch waits for it up to {gpus.wait}")
        else:
            refused = gpus.busy == "refuse"
            yield Finding(
                "failed" if refused else "warning", obstacle.text, 'grpotui gpus tells who; end it, or wait = "30m"'
            )
    if not found.obstacles and found.own:
        yield Finding("passed", "all idle")
    yield from (Finding("warning", note) for note in found.notes if note not in {o.text for o in found.obstacles})


def _needs(job: Job, own: Sequence[Seen]) -> Mapping[str, int]:
    """Bytes that each card has to have free, by what needs them; empty where that is not known."""
    sizes = [seen.device.total_bytes for seen in own if seen.device.total_bytes is not None]
    if not sizes:
        return {}
    command = said.command(job)
    machine = Machine(cards=command.world, card_bytes=min(sizes))
    try:
        found = planning.of_profile(job.loaded.profile, machine, folder=said.folder(job), environment=job.environment)
    except PlanError:
        return {}
    memory = found.memory
    assert memory is not None  # noqa: S101  (there is a machine)
    needs = {f"the phase {phase.name!r}, without what is estimated,": phase.certain for phase in memory.phases}
    rollout = found.request.rollout
    if rollout.engine == "vllm" and rollout.share is not None and rollout.cache_bytes is None:
        needs[f"vLLM, for its share {rollout.share:g} of the card,"] = round(min(sizes) * rollout.share)
    return needs


def roomy(own: Sequence[Seen], needs: Mapping[str, int]) -> Iterator[Finding]:
    """Whether each card has free what the plan puts on it."""
    if not needs:
        return
    what, need = max(needs.items(), key=lambda one: one[1])
    for seen in own:
        total, used = seen.device.total_bytes, seen.reading.used_bytes
        if total is None or used is None or need > total:  # which the memory plan tells
            continue
        free = total - used - (seen.device.reserved_bytes or 0)
        if need > free:
            words = f"{seen.label} has {size(free)} of {size(total)} free, and {what} needs {size(need)}"
            yield Finding("failed", words, "end who holds the rest, or change the plan: grpotui plan")
        elif need + _OWN_CONTEXT > free and what.startswith("vLLM"):
            yield Finding("warning", f"{seen.label} has {size(free)} free: {what} needs {size(need)}, and its own CUDA "
                          "context goes off that first", "a share a little smaller")  # fmt: skip


def healthy(own: Sequence[Seen], xids: Mapping[str, Sequence[int]] | str) -> Iterator[Finding]:
    """ECC, remapped rows, and what the kernel's log has of each device (`xids`, or why that cannot be read)."""
    for seen in own:
        health = seen.device.health
        if health is not None and health.remap_failed:
            yield Finding("warning", f"{seen.label}: a row of its memory could not be replaced, no spare is left",
                          "have it exchanged")  # fmt: skip
        if health is not None and health.remap_pending:
            yield Finding("warning", f"{seen.label}: a faulty row of its memory waits for a reset to be replaced",
                          "reset the GPU, or reboot")  # fmt: skip
        if health is not None and health.ecc_uncorrected:
            yield Finding("passed", f"{seen.label}: {health.ecc_uncorrected} uncorrected ECC errors since it was made")
        if isinstance(xids, str) or seen.device.bus_id is None:
            continue
        told = [one for one in xids.get(kernel_log.bus(seen.device.bus_id), ()) if xid_kind(one).severity == "gpu"]
        if told:
            words = ", ".join(f"Xid {one} ({xid_kind(one).name or 'no name known'})" for one in told)
            yield Finding(
                "warning", f"{seen.label} since boot: {words}", "dmesg tells when; a reset, or the vendor's test"
            )
    if isinstance(xids, str):
        yield Finding("passed", f"earlier faults (Xid) are not told: {xids}")


CHECK = _Gpus()
