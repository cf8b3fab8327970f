"""What a check is, and what it says. A check is told the job, never the other checks.

Outcomes: `passed` and `failed` are observed; `warning` is observed too, and the run may work all the same;
`not_applicable` says that this job has no such thing; `unchecked` says that the answer could not be got, and why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from grpotui_supervisor.launch import Plan
    from grpotui_supervisor.profiles import LoadedProfile

Outcome = Literal["passed", "warning", "failed", "not_applicable", "unchecked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The answer of one check."""

    outcome: Outcome
    evidence: str
    """What was seen, with its numbers; one line."""
    next: str | None = None
    """What to do about it; None where nothing is to be done."""
    details: tuple[str, ...] = ()
    """Further lines: a table, one line a device or a rank."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The same for programs; goes into `run.json`, so it holds no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is checked: exactly what `launch` would start."""

    loaded: LoadedProfile
    plan: Plan
    python: tuple[str, ...]
    """The words that start the training interpreter, placeholders filled in."""
    python_doubt: str | None = None
    """Why these may be the wrong words: what only they can tell is `unchecked` then."""
    environment: Mapping[str, str]
    """Of the job's processes, the profile's variables included."""
    cwd: str
    """Working directory of the job."""
    on_request: frozenset[str] = frozenset()
    """Costly parts that were asked for: `generate`, `bandwidth`."""
    stopping: threading.Event | None = None
    """Set when the whole preflight is given up: a check ends what it started and returns."""


class Check(Protocol):
    """One check, as a module-level object named `CHECK` in its own file.

    It may also have (`preflight.run` reads them):
    `group`: checks of one group run one after the other, in the order of the registry; without it side by side.
    `needs`: names of checks before it in its group; when one of them failed, this one is `unchecked`.
    `on_request`: the word of `Job.on_request` that it runs for; without that word it is not run at all.
    `uses_gpu_memory`: it is not run on a device that somebody else holds, and the memory is waited for afterwards.
    `costly`: it takes seconds; a launch runs it only where the run has GPUs.
    """

    name: str
    """Stays: it is what `--json` and `run.json` call it."""
    title: str
    """What is checked, for people."""
    limit_s: float
    """After so long it is ended and `unchecked`."""

    def run(self, job: Job) -> Result:
        """Looks, and says what it saw. May raise: that is `unchecked`, with the error as evidence.

        Raises:
            InterpreterSilent: what the interpreter has must be known, and it says nothing.
        """
        ...


def worst(results: Sequence[Result]) -> Outcome:
    """What the whole preflight comes to: `failed` before `warning` before `unchecked` before `passed`."""
    found = {result.outcome for result in results}
    order: tuple[Outcome, ...] = ("failed", "warning", "unchecked", "passed")
    return next((outcome for outcome in order if outcome in found), "not_applicable")
