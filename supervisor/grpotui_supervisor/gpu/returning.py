"""Whether a device is back at its baseline after the end of a run, as a fold. Pure: no device, no process, no clock.

Back is a device when no process of the run is alive anywhere, none is listed on it that was not there before, and its
used memory is at most the baseline's and a tolerance: on two looks in a row. On a real H200 a process that a rank had
left behind read as 0 bytes and an empty list at the last rank's exit, and took 2.8 GB four seconds later. So neither an
empty list nor the bytes alone are proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grpotui_supervisor.gpu.reasons import allowed_bytes, comparable, newcomers, reason_against
from grpotui_supervisor.model.gpu import tolerance

if TYPE_CHECKING:
    from grpotui_supervisor.gpu.reasons import Ends, Ground, Look, Word
    from grpotui_supervisor.model.holders import Holder

SOFT_S = 10.0
"""So long after the end a device may take without a word."""
HARD_S = 60.0
HARD_LARGE_S = 120.0
LARGE_BYTES = 100 << 30
"""A device that held so much at the last rank's end is given more time."""
_AGAIN_NS = 5_000_000_000
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The device is back at its baseline."""

    seconds: float
    """From the end of the run's last process to the first of the two looks."""
    used_bytes: int
    baseline_bytes: int
    tolerance_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReturned:
    """It is not, and why."""

    reason: Word
    evidence: str
    """For people: what was read, and what to do next."""
    final: bool
    """It is not waited for any longer."""
    seconds: float
    """Since the end of the run's last process, or of its last rank while something of it lives."""
    used_bytes: int | None
    baseline_bytes: int | None
    holders: tuple[Holder, ...]


Verdict = Returned | NotReturned


@dataclass(frozen=True, slots=True, kw_only=True)
class Returning:
    """What the fold knows of one device."""

    ground: Ground
    look: Look | None = None
    """The last one."""
    held_bytes: int = 0
    """At the last rank's end."""
    clean_m: int | None = None
    """The first of the looks in a row that showed it back."""
    said: Verdict | None = None
    said_m: int = 0
    """When that was said: what was said before the run's last process ended counts for nothing after it."""

    @property
    def patience_s(self) -> float:
        """How long the device is waited for."""
        return HARD_LARGE_S if self.held_bytes >= LARGE_BYTES else HARD_S

    def is_settled(self, ends: Ends) -> bool:
        """Whether nothing more is waited for."""
        if isinstance(self.said, Returned):
            return True
        return ends.last_m is not None and self.said is not None and self.said.final and self.said_m >= ends.last_m


def advance(
    state: Returning, *, ends: Ends, now: int, look: Look | None = None, silent_s: float = 0.0
) -> tuple[Returning, Verdict | None]:
    """The state after a look, or after some time without one, and what is to be put on record.

    `now`: monotonic nanoseconds. `silent_s`: for how long the device's library has not answered.
    """
    if look is not None:
        state = replace(state, look=look)
    if ends.ranks_m is None:
        held = state.held_bytes if look is None or look.used_bytes is None else look.used_bytes
        return replace(state, held_bytes=held, clean_m=None), None
    if isinstance(state.said, Returned):
        return state, None
    if look is not None:
        state, returned = _take(state, look, ends)
        if returned is not None:
            return replace(state, said=returned, said_m=now), returned
    found = _not_yet(state, ends, now, silent_s)
    if found is None or not _is_news(state, found, ends, now):
        return state, None
    return replace(state, said=found, said_m=now), found


def _take(state: Returning, look: Look, ends: Ends) -> tuple[Returning, Returned | None]:
    """A look at the device: the second in a row that shows it back is the proof."""
    if ends.last_m is None or not _is_clean(state.ground, look, ends):
        return replace(state, clean_m=None), None
    if state.clean_m is None:
        return replace(state, clean_m=look.m), None
    if look.m <= state.clean_m or look.used_bytes is None:
        return state, None
    seconds = round((state.clean_m - ends.last_m) / _SECOND, 3)
    return state, Returned(
        seconds=seconds,
        used_bytes=look.used_bytes,
        baseline_bytes=state.ground.baseline_bytes or 0,
        tolerance_bytes=tolerance(state.ground.total_bytes),
    )


def _is_clean(ground: Ground, look: Look, ends: Ends) -> bool:
    if ends.last_m is None or ends.alive or look.m < ends.last_m:
        return False
    if look.lost is not None or look.used_bytes is None or comparable(ground) is not None:
        return False
    if newcomers(ground, look):
        return False
    return look.used_bytes <= allowed_bytes(ground, look) + tolerance(ground.total_bytes)


def _not_yet(state: Returning, ends: Ends, now: int, silent_s: float) -> NotReturned | None:
    """What speaks against it, when it is time to say so."""
    since = ends.last_m if ends.last_m is not None else ends.ranks_m
    waited = (now - (since or now)) / _SECOND
    reason = reason_against(state.ground, state.look, ends, now=now, silent_s=silent_s)
    if reason is None:
        return None  # one look more decides
    patience = {"none": 0.0, "soft": SOFT_S, "hard": state.patience_s}[reason.patience]
    if waited < min(SOFT_S, patience):
        return None
    return NotReturned(
        reason=reason.word,
        evidence=reason.evidence,
        final=waited >= patience,
        seconds=round(waited, 3),
        used_bytes=None if state.look is None else state.look.used_bytes,
        baseline_bytes=state.ground.baseline_bytes,
        holders=reason.holders,
    )


def _is_news(state: Returning, found: NotReturned, ends: Ends, now: int) -> bool:
    said = state.said
    if not isinstance(said, NotReturned):
        return True
    if ends.last_m is not None and state.said_m < ends.last_m:
        return True
    if found.final and not said.final:
        return True
    return found.reason != said.reason and now - state.said_m >= _AGAIN_NS
