"""A finding: something that a rule saw in the records, with its evidence."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "critical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was seen, what it was measured against, and what to look at next."""

    id: str
    severity: Severity
    evidence: str
    """The line or number that was observed."""
    threshold: str
    """The limit that it passed, in words."""
    next: str
    """The next thing to read or try."""
    step: int | None = None
    member: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A finding with its moments, in nanoseconds of the monotonic clock that recorded them."""

    finding: Finding
    raised_m: int
    cleared_m: int | None = None
    """None: it stands."""
