"""What the profile's [expect] holds the run to, against what its log showed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grpotui_supervisor.source.source import Source


@dataclass(frozen=True, slots=True)
class Expectation:
    """Steps asked for, and the last step that the log showed; what it did not show is not met."""

    steps: int
    shown: int | None

    @property
    def is_met(self) -> bool:
        """Whether the log showed them all."""
        return self.shown is not None and self.shown >= self.steps


def expectation(source: Source) -> Expectation | None:
    """None where the profile expects nothing."""
    wanted = source.facts.get("profile", {}).get("expect", {}).get("steps")
    if wanted is None:
        return None
    return Expectation(int(wanted), source.logs.step)
