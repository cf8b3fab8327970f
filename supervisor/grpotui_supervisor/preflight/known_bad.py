"""Combinations that are known to fail, as data, each with what was seen and where. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.preflight.requirements import fits, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grpotui_supervisor.plan.request import Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBad:
    """One combination; all that it names must hold."""

    packages: Mapping[str, str]
    """Specifier by distribution."""
    sleeps: bool = False
    """Only where the rollout engine sleeps between its uses, beside the training."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What one of these environment variables contains."""
    seen: str
    next: str


_ALLOCATOR: Final = dict.fromkeys(("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"), "expandable_segments:True")
KNOWN_BAD: Final = (
    KnownBad(
        packages={"trl": "==0.26.*", "vllm": "==0.11.*"},
        sleeps=True,
        seen="with vLLM beside the training and its sleep mode on, the processes abort at their exit, after complete"
        " training (a seven-GPU run; vllm-project/vllm#16993)",
        next="vllm_enable_sleep_mode false: that run passed with it",
    ),
    KnownBad(
        packages={"vllm": ">=0.7"},
        sleeps=True,
        variables=_ALLOCATOR,
        seen="expandable segments and vLLM's sleep mode exclude each other: 'Expandable segments are not compatible"
        " with memory pool' (before vllm-project/vllm#40812)",
        next="take expandable_segments out of the environment of the job, or switch the sleep mode off",
    ),
    KnownBad(
        packages={"verl": "==0.5.*", "transformers": ">=5"},
        seen="verl 0.5 imports AutoModelForVision2Seq, which transformers 5 has no more",
        next="pip install 'transformers<5', or a newer verl",
    ),
)
_BUILT_FOR: Final = re.compile(r"torch(\d+\.\d+)")


def found_bad(
    packages: Mapping[str, str], environment: Mapping[str, str], rollout: Rollout | None
) -> Iterator[tuple[str, str]]:
    """Each combination that is there: what was seen of it, and what to do."""
    sleeps = rollout is not None and rollout.engine == "vllm" and rollout.sleeps
    for bad in KNOWN_BAD:
        has = all(name in packages and fits(packages[name], wanted) for name, wanted in bad.packages.items())
        asked = not bad.variables or any(word in environment.get(name, "") for name, word in bad.variables.items())
        if has and asked and (sleeps or not bad.sleeps):
            names = ", ".join(f"{name} {packages[name]}" for name in bad.packages)
            yield f"{names}: {bad.seen}", bad.next
    yield from _built_for_another_torch(packages)


def _built_for_another_torch(packages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Wheels of flash-attn and the like name in their version the torch whose symbols they need."""
    torch = numbers(packages.get("torch", ""))
    for name, version in packages.items():
        built = _BUILT_FOR.search(version.partition("+")[2])
        if torch is not None and built is not None and numbers(built[1]) != torch[:2]:
            seen = f"{name} {version} is built for torch {built[1]}, and torch {packages['torch']} is installed"
            yield f"{seen}: an undefined symbol at its import", f"install {name} anew, built for this torch"
