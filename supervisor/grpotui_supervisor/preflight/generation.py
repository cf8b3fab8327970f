"""Does the rollout engine generate? A few tokens through vLLM, only on request: it loads the whole model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from grpotui_supervisor import planning
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.child import run_program
from grpotui_supervisor.preflight.interpreter import interpreter

if TYPE_CHECKING:
    from grpotui_supervisor.preflight.check import Job
    from grpotui_supervisor.preflight.child import Answer

LIMIT_S: Final = 540.0
_SHARE: Final = 0.5
"""Of one card, where the job does not say; most of it becomes KV cache that is never used."""
_LENGTH: Final = 256
_OFFLINE: Final = {
    "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_DO_NOT_TRACK": "1",
}  # fmt: skip
"""Nothing is downloaded and nothing is sent."""


class _Generation:
    name = "generation"
    title = "The rollout engine generates"
    limit_s = LIMIT_S + 15
    group = "gpu"
    needs = ("cuda_init", "matmul")
    on_request = "generate"
    uses_gpu_memory = True
    costly = True

    def run(self, job: Job) -> Result:
        """One engine on one GPU, without compilation and CUDA graphs."""
        found = interpreter(job)
        if "vllm" not in found.packages:
            return Result(outcome="not_applicable", evidence=f"{found.python} has no vllm; other engines are not tried")
        model = planning.model_of(job.loaded.profile)
        if model is None:
            step = '[model] path = "…" in the profile'
            return Result(outcome="unchecked", evidence="the profile names no model", next=step)
        share = planning.rollout_of(job.loaded.profile).share or _SHARE
        options = {"gpu_memory_utilization": share, "max_model_len": _LENGTH, "max_num_seqs": 1, "enforce_eager": True}
        args = [model, json.dumps(options)]
        return _judged(model, run_program("generation", job, args=args, limit_s=LIMIT_S, extra_env=_OFFLINE))


CHECK: Final = _Generation()


def _judged(model: str, answer: Answer) -> Result:
    told = answer.facts
    if answer.outcome == "answered" and told.get("tokens"):
        words = f"vLLM {told.get('vllm')} generated {told['tokens']} tokens with {model} in {answer.seconds:.0f} s"
        after = f"; then its process {answer.words}" if answer.returncode else ""
        return Result(outcome="warning" if after else "passed", evidence=words + after, data=told)
    error = told.get("error") or (answer.stderr_tail.splitlines() or ["no last words"])[-1]
    evidence = f"at {told.get('stage', 'its start')} the process {answer.words}: {error}"
    if answer.outcome in ("stopped", "not_started") or "offline" in error.lower():
        step = "download the model first, for example with `hf download`; nothing is downloaded here"
        return Result(outcome="unchecked", evidence=evidence, next=step, data=told)
    details = tuple(answer.stderr_tail.splitlines()[-20:])
    step = "the last lines of the engine are below; run it by hand with VLLM_LOGGING_LEVEL=DEBUG"
    return Result(outcome="failed", evidence=evidence, next=step, details=details, data=told)
