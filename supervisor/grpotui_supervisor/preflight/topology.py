"""How the run's GPUs reach each other, and what that means for tensor parallelism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor import launch, planning
from grpotui_supervisor.errors import GpuUnavailable, UsageError
from grpotui_supervisor.gpu import links
from grpotui_supervisor.preflight import framework, said
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.gpu.links import Links, Pair
    from grpotui_supervisor.planning import Command
    from grpotui_supervisor.preflight.check import Job


class _Topology:
    name = "topology"
    title = "Links between GPUs"
    limit_s = 25.0
    group = "gpu"

    def run(self, job: Job) -> Result:
        """Asks the driver for each pair of the run's devices."""
        try:
            found = launch.look_at_gpus(job.plan, job.environment)
            devices = () if found.snapshot is None else tuple(seen.device for seen in found.snapshot.seen)
            whole = [d.key for d in devices if d.key in found.own and d.parent is None and d.uuid is not None]
            if found.snapshot is None and (framework.gpus_wanted(job) or 0) > 1:
                return Result(outcome="unchecked", evidence=str(found.unavailable))
            if len(whole) < 2:
                return Result(outcome="not_applicable", evidence=found.unavailable or "fewer than two whole GPUs")
            told = links.look(whole)
        except (GpuUnavailable, UsageError) as error:
            return Result(outcome="unchecked", evidence=str(error))
        command = said.command(job)
        parallel = None if command.kind is None else planning.rollout_of(job.loaded.profile).tensor_parallel
        result = together(list(judged(told, parallel, command)))
        table = tuple(_line(pair) for pair in told.pairs)
        return Result(
            outcome=result.outcome,
            evidence=result.evidence,
            next=result.next,
            details=(*result.details, *table),
            data={"pairs": [[pair.first, pair.second, pair.nvlink, pair.peer, pair.between] for pair in told.pairs],
                  "nvlinks": told.active},
        )  # fmt: skip


def judged(told: Links, parallel: int | None, command: Command) -> Iterator[Finding]:
    """`parallel`: tensor parallelism of the rollout engine."""
    pairs = told.pairs
    fast = [pair for pair in pairs if pair.nvlink]
    if len(fast) == len(pairs):
        counts = sorted({str(one) for one in told.active.values() if one is not None})
        each = f" ({' or '.join(counts)} links each)" if counts else ""
        yield Finding("passed", f"every GPU reaches every other one over NVLink{each}")
        return
    if any(pair.nvlink is None for pair in pairs):
        yield Finding("unchecked", "whether the GPUs reach each other over NVLink is not told by the driver")
        return
    words = f"{len(pairs) - len(fast)} of {len(pairs)} pairs reach each other over PCIe only"
    if parallel is not None and parallel > 1 and not _within(told, parallel):
        key = (
            "actor_rollout_ref.rollout.tensor_model_parallel_size"
            if command.kind == "verl"
            else "vllm_tensor_parallel_size"
        )
        yield Finding("warning", f"{words}, and tensor parallelism {parallel} sends every token's layers over it",
                      f"{key}=1 where the model fits one card: more replicas, each by itself")  # fmt: skip
    else:
        single = " (TP 1: replicas generate by themselves)" if parallel == 1 else ""
        yield Finding("passed", f"{words}: sharded training and weight updates cross it{single}")
    closed = [pair for pair in pairs if pair.peer is False]
    if closed:
        reasons = sorted({str(pair.why_not) for pair in closed})
        words = f"{len(closed)} pairs cannot read each other's memory ({'; '.join(reasons)})"
        yield Finding("passed", f"{words}: NCCL goes through shared memory; if it hangs, NCCL_P2P_DISABLE=1")


def _within(told: Links, parallel: int) -> bool:
    """Whether each group of neighbours of that size is joined by NVLink: engines take devices in their order."""
    keys = list(told.active)
    joined = {frozenset((pair.first, pair.second)) for pair in told.pairs if pair.nvlink}
    groups = [keys[at : at + parallel] for at in range(0, len(keys) - parallel + 1, parallel)]
    return all(frozenset((a, b)) in joined for group in groups for a in group for b in group if a != b)


def _line(pair: Pair) -> str:
    peer = {True: "peer access", False: f"no peer access: {pair.why_not}", None: "peer access not told"}[pair.peer]
    way = "NVLink" if pair.nvlink else f"PCIe, {pair.between or 'over what is not told'}"
    return f"GPU {pair.first} and GPU {pair.second}: {way}, {peer}"


CHECK = _Topology()
