"""What a job says to verl or TRL, and rules of the plan as a result. Shared by the checks that calculate."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from grpotui_supervisor import planning
from grpotui_supervisor.preflight.check import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpotui_supervisor.plan.batches import Broken
    from grpotui_supervisor.planning import Command
    from grpotui_supervisor.preflight.check import Job

_ORDER: Final = ("failed", "warning", "information")
_VARIABLE: Final = re.compile(r"\$\{oc\.env:([A-Za-z_]\w*)(?:,([^}]*))?\}")
_SIGNS: Final = {"failed": "failed", "warning": "warning", "information": "note"}

NOTHING: Final = Result(
    outcome="not_applicable",
    evidence="the command has no settings of verl or TRL, and the profile has none in [training] or [rollout]",
)


def command(job: Job) -> Command:
    """The job's words with their placeholders filled in, and the profile's tables over them."""
    start = next((one for one in job.plan.starts if one.role != "companion"), None)
    return planning.command_of(job.loaded.profile, None if start is None else start.argv)


def filled(text: str, environment: Mapping[str, str]) -> str | None:
    """The text with hydra's `${oc.env:NAME}` and `${oc.env:NAME,default}` filled in; None: other variables are left."""
    found = _VARIABLE.sub(lambda m: environment.get(m[1], m[0] if m[2] is None else m[2]), text)
    return None if "${" in found else found


def folder(job: Job) -> str:
    """Where relative paths of the profile start."""
    return os.path.dirname(job.loaded.path)


def of_rules(facts: Sequence[tuple[str, str]], broken: Sequence[Broken], notes: Sequence[str] = ()) -> Result:
    """The worst broken rule first; what is only worth knowing stands in the details."""
    found = sorted(broken, key=lambda one: _ORDER.index(one.severity))
    worst = found[0] if found and found[0].severity != "information" else None
    told = "; ".join(f"{name}: {value}" for name, value in facts)
    details = [f"{name}: {value}" for name, value in facts] if worst is not None else []
    details += [f"{_SIGNS[one.severity]}: {one.evidence} → {one.next}" for one in found if one is not worst]
    return Result(
        outcome="passed" if worst is None else "failed" if worst.severity == "failed" else "warning",
        evidence=told if worst is None else worst.evidence,
        next=None if worst is None else worst.next,
        details=(*details, *notes),
        data={
            "facts": dict(facts),
            "broken": [
                {"rule": one.rule, "severity": one.severity, "evidence": one.evidence, "next": one.next}
                for one in found
            ],
        },
    )
