"""What the training interpreter is and has installed: asked once for a job, whoever asks first."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.preflight.child import run_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.preflight.check import Job

LIMIT_S: Final = 20.0
"""Of the answer; 0.1 s on a local disk, several seconds where the environment is on a slow network disk."""
PACKAGES: Final = (
    "torch", "vllm", "sglang", "trl", "verl", "transformers", "ray", "deepspeed", "accelerate", "peft", "flash-attn",
    "flashinfer-python", "xformers", "triton", "bitsandbytes", "liger-kernel", "datasets", "tokenizers",
    "huggingface-hub", "numpy", "megatron-core", "tensordict", "math-verify", "unsloth", "ms-swift", "jax", "cupy",
    "nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13",
)  # fmt: skip
"""The distributions whose versions decide whether a job runs."""
_ON_GPUS: Final = frozenset({"torch", "vllm", "sglang", "jax", "cupy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """What it told of itself."""

    python: str
    """Path of the interpreter that really ran."""
    version: str
    packages: Mapping[str, str]
    """Version of each distribution of `PACKAGES` that is installed."""
    requires: Mapping[str, list[str]]
    """Of each of them, what it requires of the others, in the words of its metadata."""
    torch_cuda: str | None
    """The CUDA that torch was built for; None: no torch, or one without CUDA."""
    torch_build: str | None
    """`CUDA 12.8` or `ROCm 6.4`; None: no torch, or one that computes on the CPU only."""
    image: Mapping[str, Any] | None
    """The container it runs in, as far as that can be known."""

    @property
    def has_torch(self) -> bool:
        """Whether torch is installed there."""
        return "torch" in self.packages

    @property
    def may_use_gpus(self) -> bool:
        """Whether anything is installed that computes on GPUs."""
        return bool(_ON_GPUS & self.packages.keys())


class InterpreterSilent(Exception):  # noqa: N818  (a state: whichever check asked is `unchecked` in its words)
    """Nothing is known of the training interpreter, and why."""


_lock = threading.Lock()
_known: dict[object, Interpreter | InterpreterSilent] = {}


def interpreter(job: Job) -> Interpreter:
    """What it has; the first to ask waits for the answer, the others for the first.

    Raises:
        InterpreterSilent: it cannot be started, does not answer, or is not known.
    """
    if job.python_doubt is not None:
        raise InterpreterSilent(job.python_doubt)
    key = (job.python, job.cwd, frozenset(job.environment.items()))
    with _lock:
        if key not in _known:
            _known[key] = _ask(job)
        found = _known[key]
    if isinstance(found, InterpreterSilent):
        raise found
    return found


def _ask(job: Job) -> Interpreter | InterpreterSilent:
    answer = run_program("interpreter", job, args=PACKAGES, limit_s=LIMIT_S)
    told = answer.facts
    if answer.outcome != "answered":
        words = answer.stderr_tail.splitlines()[-1:]
        return InterpreterSilent(": ".join([f"the training interpreter {answer.words}", *words]))
    torch = told.get("torch") or {}
    packages = dict(told["packages"])
    if torch.get("version") and "torch" not in packages:  # built from source, without metadata
        packages["torch"] = torch["version"]
    return Interpreter(
        python=told["python"],
        version=told["version"],
        packages=packages,
        requires=told["requires"],
        torch_cuda=torch.get("cuda"),
        torch_build=_build(torch),
        image=told["image"],
    )


def _build(torch: Mapping[str, str | None]) -> str | None:
    words = [f"{name} {torch[key]}" for key, name in (("cuda", "CUDA"), ("hip", "ROCm")) if torch.get(key)]
    return words[0] if words else None
