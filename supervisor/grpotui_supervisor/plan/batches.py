"""What the rules of batch sizes have in common: a rule with its numbers, and the nearest values that would keep it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["failed", "warning", "information"]


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that is not kept."""

    rule: str
    """A name that stays: `mini_batch_divides`."""
    severity: Severity
    evidence: str
    """The sum, with its numbers."""
    next: str
    """The nearest values that work."""


@dataclass(frozen=True, slots=True)
class Batches:
    """What follows from the numbers, and what is wrong with them."""

    facts: tuple[tuple[str, str], ...]
    """(what, how much): `("trajectories a step", "128 × 5 = 640")`."""
    broken: tuple[Broken, ...]

    @property
    def severity(self) -> Severity | None:
        """The worst; None where every rule is kept."""
        found = {one.severity for one in self.broken}
        order: tuple[Severity, ...] = ("failed", "warning", "information")
        return next((severity for severity in order if severity in found), None)


def multiples_near(value: int, of: int) -> list[int]:
    """The multiples of `of` just below and above a value that is none, without 0."""
    below = value // of * of
    return [found for found in (below, below + of) if found > 0]


def divisors_near(value: int, of: int) -> list[int]:
    """The divisors of `of` next to a value that is none."""
    found = [one for one in range(1, of + 1) if of % one == 0]
    below = [one for one in found if one < value]
    above = [one for one in found if one > value]
    return [*below[-1:], *above[:1]]


def either(values: list[int]) -> str:
    """`48 or 64`."""
    return " or ".join(map(str, values))
