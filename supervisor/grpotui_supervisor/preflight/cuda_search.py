"""How CUDA starts in one search environment: what was tried, which library was mapped, what it answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.preflight.child import run_program
from grpotui_supervisor.preflight.cuda_codes import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grpotui_supervisor.preflight.check import Job
    from grpotui_supervisor.preflight.child import Answer

KERNEL_MODULE: Final = "/proc/driver/nvidia/version"
ANSWER_S: Final = 20.0
"""What does not come back by then hangs: `cuInit` takes 0.1 s to 3 s, with eight GPUs without persistence mode 10 s."""
_MOST: Final = 8
"""Other environments that are tried."""


@dataclass(frozen=True, slots=True)
class Try:
    """One fresh process in one environment."""

    words: str
    """What is different from the job's own."""
    changes: Mapping[str, str | None]
    answer: Answer

    @property
    def facts(self) -> dict[str, Any]:
        """What it told."""
        return self.answer.facts

    @property
    def code(self) -> int | None:
        """What cuInit returned; None: it did not return, or there is no library."""
        found = self.facts.get("code")
        return found if isinstance(found, int) else None

    @property
    def library(self) -> dict[str, Any]:
        """The libcuda that is mapped; empty: none is."""
        found = self.facts.get("libraries") or [{}]
        return dict(found[0])

    @property
    def works(self) -> bool:
        """Whether CUDA starts there."""
        return self.code == 0

    @property
    def outcome(self) -> str:
        """`803 SYSTEM_DRIVER_MISMATCH`, or why there is no code."""
        if self.code is not None:
            return named(self.code)
        missing = self.facts.get("missing")
        return f"cannot be loaded: {missing}" if missing else self.answer.words

    def row(self) -> str:
        """Environment → mapped library → code."""
        return f"{self.words} → {self.library.get('path', 'no libcuda')} → {self.outcome}"

    def document(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "environment": self.words,
            "changes": dict(self.changes),
            "library": self.library.get("path"),
            "version": self.library.get("version"),
            "code": self.code,
            "outcome": self.outcome,
        }


def attempt(job: Job, words: str, changes: Mapping[str, str | None]) -> Try:
    """One fresh process."""
    answer = run_program("cuda_init", job, args=[KERNEL_MODULE], limit_s=ANSWER_S, extra_env=changes)
    return Try(words, changes, answer)


def others(job: Job, first: Try) -> Iterator[Try]:
    """The same in other environments, each in a fresh process."""
    for words, changes in _variants(job, first)[:_MOST]:
        if job.stopping is not None and job.stopping.is_set():
            return
        yield attempt(job, words, changes)


def _variants(job: Job, first: Try) -> list[tuple[str, dict[str, str | None]]]:
    search, visible = job.environment.get("LD_LIBRARY_PATH"), job.environment.get("CUDA_VISIBLE_DEVICES")
    found: list[tuple[str, dict[str, str | None]]] = []
    if search:
        found.append(("LD_LIBRARY_PATH unset", {"LD_LIBRARY_PATH": None}))
    for place in first.facts.get("candidates", ()):
        if search is None or search.split(":")[0] != place:
            path = ":".join([place, *(part for part in (search or "").split(":") if part and part != place)])
            found.append((f"{place} first in LD_LIBRARY_PATH", {"LD_LIBRARY_PATH": path}))
    if visible is not None and first.code in (100, 101):
        found.append(("CUDA_VISIBLE_DEVICES unset", {"CUDA_VISIBLE_DEVICES": None}))
        words = visible.split(",") if "," in visible else []
        found += [(f"CUDA_VISIBLE_DEVICES={word}", {"CUDA_VISIBLE_DEVICES": word}) for word in words]
    return found
