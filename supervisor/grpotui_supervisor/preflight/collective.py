"""Do all ranks reach each other? Rank r contributes r + 1, and every rank must see N(N+1)/2: 28 of seven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grpotui_supervisor.preflight import ranks
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.interpreter import interpreter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui_supervisor.preflight.check import Job, Outcome
    from grpotui_supervisor.preflight.ranks import Rank

LIMIT_S: Final = 120.0
"""Of all ranks together: eight times importing torch from a cold disk, and NCCL's start of about 5 s."""
_HINTS: Final = {
    "EADDRINUSE": "somebody holds the port: ss -ltnp",
    "has no device": "as many GPUs as ranks must be visible: see launch.nproc and CUDA_VISIBLE_DEVICES",
    "Duplicate GPU": "two ranks were given one GPU: see CUDA_VISIBLE_DEVICES",
    "shared memory": "shared memory is full or too small: docker run --shm-size, and remove its stale nccl-* files",
    "out of memory": "somebody holds the GPUs' memory: grpotui gpus",
    "Connect": "an interface or a firewall: set NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME to one that works",
    "peer access": "no direct path between the GPUs: try NCCL_P2P_DISABLE=1",
}


class _Collective:
    name = "collective"
    title = "All ranks reach each other"
    limit_s = 2 * LIMIT_S + 15
    group = "gpu"
    needs = ("cuda_init", "matmul")
    uses_gpu_memory = True
    costly = True

    def run(self, job: Job) -> Result:
        """One process a rank."""
        found = interpreter(job)
        if not found.has_torch:
            return Result(outcome="not_applicable", evidence=f"{found.python} has no torch")
        size = ranks.count(job)
        if size is None:
            return Result(outcome="unchecked", evidence=ranks.UNKNOWN)
        return judged(ranks.run(job, size, "sum", limit_s=LIMIT_S))


CHECK: Final = _Collective()


def judged(found: Sequence[Rank]) -> Result:
    """What the ranks came to: who did not answer, who saw something else, or that all is well."""
    size, details = len(found), tuple(map(ranks.line, found))
    total = size * (size + 1) // 2
    data = {"ranks": ranks.document(found), "expected": total}
    if not all(rank.is_well for rank in found):
        cause = ranks.culprit(found)
        outcome: Outcome = "unchecked" if any(rank.answer.outcome == "stopped" for rank in found) else "failed"
        who = f"rank {cause.rank} of {size} did not answer"
        evidence = f"{who}: {cause.trouble}{_waiting(found, cause)}"
        return Result(outcome=outcome, evidence=evidence, next=_hint(cause.error), details=details, data=data)
    wrong = [rank for rank in found if rank.facts.get("seen") != total]
    if wrong:
        words = ", ".join(f"rank {rank.rank} saw {rank.facts.get('seen'):g}" for rank in wrong)
        step = "the library computes wrongly: another NCCL, or NCCL_P2P_DISABLE=1, shows where"
        return Result(outcome="failed", evidence=f"{words} instead of {total}", next=step, details=details, data=data)
    seconds = max(rank.answer.seconds for rank in found)
    backend = found[0].facts["backend"]
    evidence = f"{size} ranks by {backend}: each saw {total} = {size}·{size + 1}/2, in {seconds:.1f} s"
    return Result(outcome="passed", evidence=evidence, details=details, data=data)


def _waiting(found: Sequence[Rank], cause: Rank) -> str:
    """Who only waited for it."""
    others = [str(rank.rank) for rank in found if rank is not cause and rank.answer.outcome in ("timed_out", "ended")]
    return f"; waiting for it: rank {', '.join(others)}" if others else ""


def _hint(text: str) -> str:
    found = (step for word, step in _HINTS.items() if word in text)
    return next(found, "NCCL_DEBUG=INFO in [launch.env] shows more; see the lines of the ranks")
