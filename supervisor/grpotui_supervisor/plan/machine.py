"""The machine that a plan is for: `4x32GB`."""

from __future__ import annotations

from dataclasses import dataclass

from grpotui_supervisor.errors import PlanError, UsageError
from grpotui_supervisor.model.sizes import cards_of
from grpotui_supervisor.plan.units import both, parse_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Cards of one kind, and the host's memory where it is known; bytes."""

    cards: int
    card_bytes: int
    host_bytes: int | None = None

    def words(self) -> str:
        """`4 cards of 32 GB (29.8 GiB)`."""
        host = "" if self.host_bytes is None else f", host {both(self.host_bytes)}"
        return f"{self.cards} card{'s' if self.cards != 1 else ''} of {both(self.card_bytes)}{host}"


def parse_cards(text: str, *, host: str | None = None) -> Machine:
    """A machine from `4x32GB`; one card is `1x80GB` or `80GB`.

    Raises:
        UsageError: it is none.
    """
    found = cards_of(text)
    if found is None:
        raise UsageError(f"{text!r} is no machine", hint="write 4x32GB (GB are 10^9 bytes, GiB 2^30), or 80GB")
    count, size = found
    if count < 1:
        raise PlanError("a machine without cards has nothing to plan", hint="write 4x32GB")
    return Machine(cards=count, card_bytes=size, host_bytes=None if host is None else parse_bytes(host))
