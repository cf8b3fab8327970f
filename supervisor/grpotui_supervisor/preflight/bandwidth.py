"""How fast do the ranks exchange data? Only on request: it takes the links for a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grpotui_supervisor.preflight import ranks
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.interpreter import interpreter

if TYPE_CHECKING:
    from grpotui_supervisor.preflight.check import Job

LIMIT_S: Final = 180.0


class _Bandwidth:
    name = "bandwidth"
    title = "How fast the ranks exchange data"
    limit_s = LIMIT_S + 15
    group = "gpu"
    needs = ("cuda_init", "matmul", "collective")
    on_request = "bandwidth"
    uses_gpu_memory = True
    costly = True

    def run(self, job: Job) -> Result:
        """The sum of the collective check, of a large tensor. No threshold: links differ a thousandfold."""
        found = interpreter(job)
        size = ranks.count(job)
        if not found.has_torch or size == 1:
            why = "one rank exchanges nothing" if found.has_torch else f"{found.python} has no torch"
            return Result(outcome="not_applicable", evidence=why)
        if size is None:
            return Result(outcome="unchecked", evidence=ranks.UNKNOWN)
        return _judged(ranks.run(job, size, "bandwidth", limit_s=LIMIT_S))


CHECK: Final = _Bandwidth()


def _judged(found: list[ranks.Rank]) -> Result:
    details, data = tuple(map(ranks.line, found)), {"ranks": ranks.document(found)}
    if not all(rank.is_well for rank in found):
        cause = ranks.culprit(found)
        words = f"rank {cause.rank} of {len(found)} did not answer: {cause.trouble}"
        return Result(outcome="unchecked", evidence=words, details=details, data=data)
    slowest = min(rank.facts["bytes_per_s"] for rank in found)
    facts = found[0].facts
    tensor = facts["tensor_bytes"] >> 20
    words = (
        f"{slowest / 1e9:.2f} GB/s a rank (all-reduce of {tensor} MiB over {len(found)} ranks by {facts['backend']})"
    )
    return Result(outcome="passed", evidence=words, details=details, data={**data, "bytes_per_s": slowest})
