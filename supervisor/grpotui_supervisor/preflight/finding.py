"""Several things that one check looks at, as one result. Shared by the checks of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.preflight.check import Outcome, Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ORDER: Final[tuple[Outcome, ...]] = ("failed", "warning", "unchecked", "passed", "not_applicable")


@dataclass(frozen=True, slots=True)
class Finding:
    """One of them."""

    outcome: Outcome
    evidence: str
    next: str | None = None


def together(findings: Sequence[Finding], data: Mapping[str, Any] | None = None) -> Result:
    """The worst one is the result, the others stand in its details; where all is well their words follow each other."""
    found = sorted(findings, key=lambda one: _ORDER.index(one.outcome))
    first, rest = found[0], found[1:]
    if first.outcome == "passed":
        evidence = "; ".join(one.evidence for one in found if one.outcome == "passed")
        return Result(outcome="passed", evidence=evidence, data=data or {})
    return Result(
        outcome=first.outcome,
        evidence=first.evidence,
        next=first.next,
        details=tuple(one.evidence + (f" → {one.next}" if one.next else "") for one in rest),
        data=data or {},
    )
