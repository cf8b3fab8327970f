"""What speaks against a device being back at its baseline: the strongest reason that the last look gives. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grpotui_supervisor.model.gpu import MemoryKind, tolerance
from grpotui_supervisor.model.holders import Holder, memory_text

RESIDUE_BYTES = 256 << 20
"""Less than this with nobody listed is what drivers keep; the smallest context of a process seen takes 248 MiB."""
SILENT_S = 5.0
"""A look older than this says nothing of now."""
_SECOND = 1_000_000_000

Word = Literal["held_by_ours", "held_by_other", "held_invisible", "baseline_moved", "residue", "unverifiable", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A device before the first rank started."""

    used_bytes: int | None
    kind: MemoryKind | None
    processes: tuple[Holder, ...] = ()
    list_reason: str | None = None
    """Why its processes could not be listed; None: they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A device, and what it is held against."""

    total_bytes: int | None = None
    kind: MemoryKind | None = None
    numa: bool = False
    baseline: Baseline | None = None
    why_none: str | None = None
    """Why nothing can be said at all: no baseline, or no library."""

    @property
    def baseline_bytes(self) -> int | None:
        """Bytes that were used before the run."""
        return None if self.baseline is None else self.baseline.used_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One reading of a device with its process list. `m`: when the earlier of the two was taken."""

    m: int
    used_bytes: int | None = None
    used_reason: str | None = None
    """Why the memory was not read."""
    lost: str | None = None
    """Why the device does not answer at all."""
    holders: tuple[Holder, ...] = ()
    list_reason: str | None = None
    """Why the list could not be read; None: it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Living:
    """A process of the run that is alive, on a device or not."""

    pid: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How far the run's processes have ended; moments in monotonic nanoseconds."""

    ranks_m: int | None = None
    """End of the last rank; None: one lives."""
    last_m: int | None = None
    """End of the run's last process, leftovers included; None: one lives, or may."""
    alive: tuple[Living, ...] = ()
    """Those known to live."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a device is not said to be back."""

    word: Word
    evidence: str
    holders: tuple[Holder, ...] = ()
    patience: Literal["none", "soft", "hard"] = "hard"
    """When waiting on can tell nothing more."""


def reason_against(ground: Ground, look: Look | None, ends: Ends, *, now: int, silent_s: float) -> Reason | None:
    """The strongest reason; None: the last look shows the device as it was before the run."""
    if look is not None and look.lost is not None:
        evidence = f"the device does not answer: {look.lost}; see the kernel's log (dmesg), it may need a reset"
        return Reason(word="lost", evidence=evidence, patience="soft")
    return (
        _ours(look, ends)
        or _without_ground(ground)
        or _silent(look, now, silent_s)
        or _others(ground, look)
        or _beyond_bytes(ground)
        or _bytes(ground, look)
    )


def comparable(ground: Ground) -> str | None:
    """Why bytes used now cannot be held against those of the baseline; None: they can."""
    if ground.why_none is not None or ground.baseline is None:
        return ground.why_none or "there is no baseline of this device"
    if ground.numa:
        return "its memory is a NUMA node of the host, which keeps pages after a process has ended"
    if ground.kind == "lists":
        return "it shares the host's memory: only what processes hold can be read"
    if ground.baseline.used_bytes is None:
        return "its memory could not be read before the run"
    if ground.kind != ground.baseline.kind:
        return f"its memory was read as {ground.baseline.kind} before the run, and as {ground.kind} now"
    return None


def newcomers(ground: Ground, look: Look) -> tuple[Holder, ...]:
    """Listed processes, windows systems apart, that were not there before; none where the list cannot be read.

    Where it could not be read before the run, only those of the run can be told from the others.
    """
    baseline = ground.baseline
    listed = tuple(holder for holder in look.holders if holder.computes) if look.list_reason is None else ()
    if baseline is None or baseline.list_reason is not None:
        return tuple(holder for holder in listed if holder.owner in ("run", "probably"))
    before = {(holder.pid, holder.start) for holder in baseline.processes}
    return tuple(holder for holder in listed if (holder.pid, holder.start) not in before)


def allowed_bytes(ground: Ground, look: Look) -> int:
    """What the device may use: the baseline, less what processes of the baseline have given back since.

    Else memory of the run that nobody lists would hide behind a neighbour that has left.
    """
    return (ground.baseline_bytes or 0) - sum(max(0, -change) for _, change in _changes(ground, look))


def _changes(ground: Ground, look: Look) -> list[tuple[Holder, int]]:
    """By how much each process of the baseline has grown; one that has left, by minus what it held."""
    if ground.baseline is None or look.list_reason is not None:
        return []
    now = {(holder.pid, holder.start): holder.used_bytes for holder in look.holders}
    pairs = [(holder, now.get((holder.pid, holder.start), 0)) for holder in ground.baseline.processes]
    return [(h, count - h.used_bytes) for h, count in pairs if count is not None and h.used_bytes is not None]


def _ours(look: Look | None, ends: Ends) -> Reason | None:
    """A process of the run lives, listed here or not, or the driver still lists one."""
    listed = () if look is None or look.list_reason is not None else look.holders
    holders = tuple(holder for holder in listed if holder.owner == "run" and holder.computes)
    if not holders and not ends.alive and ends.last_m is not None:
        return None
    held = {holder.pid for holder in holders}
    parts = [f"{_named(holder)} of this run holds {_held(holder)}" for holder in holders]
    parts += [
        f"{living.name} (pid {living.pid}) of this run is alive; it is not listed here, and may still take memory"
        for living in ends.alive
        if living.pid not in held
    ]
    what = _joined(parts) or "processes of this run have not all ended"
    evidence = f"{what}. `grpotui stop --leftovers` ends what is left of it"
    return Reason(word="held_by_ours", evidence=evidence, holders=holders)


def _without_ground(ground: Ground) -> Reason | None:
    if ground.why_none is None and ground.baseline is not None:
        return None
    return Reason(word="unverifiable", evidence=f"{comparable(ground)}. {_ASK}", patience="none")


def _silent(look: Look | None, now: int, silent_s: float) -> Reason | None:
    if look is None:
        evidence = f"the driver has not answered for {silent_s:.0f} s" if silent_s > 0 else "it has not been read yet"
    elif max(age := (now - look.m) / _SECOND, silent_s) > SILENT_S:
        evidence = f"the driver has not answered for {silent_s:.0f} s, " if silent_s > SILENT_S else ""
        evidence += f"the last reading is {age:.0f} s old"
    else:
        return None
    return Reason(word="unverifiable", evidence=f"{evidence}. {_ASK}")


def _others(ground: Ground, look: Look | None) -> Reason | None:
    """Somebody else has come to the device since the baseline, or a process that cannot be seen from here."""
    found = () if look is None else newcomers(ground, look)
    if look is None or not found:
        return None
    visible = tuple(holder for holder in found if holder.owner != "unseen")
    bytes_text = _bytes_text(ground, look)
    if visible:
        parts = [
            f"{_named(holder)} holds {_held(holder)}"
            + (" (probably of this run: same user, begun after it)" if holder.owner == "probably" else "")
            for holder in visible
        ]
        evidence = f"{_joined(parts)}, and was not there before the run. {bytes_text}"
        return Reason(word="held_by_other", evidence=evidence, holders=found)
    parts = [f"pid {holder.pid} holds {_held(holder)}" for holder in found]
    evidence = (
        f"{_joined(parts)} and is not visible here: it belongs to another pid namespace (a container, or the host). "
        f"{bytes_text} Look on the host"
    )
    return Reason(word="held_invisible", evidence=evidence, holders=found)


def _beyond_bytes(ground: Ground) -> Reason | None:
    """Where bytes mean nothing the list has the last word, and an empty list is no proof."""
    why = comparable(ground)
    if why is None:
        return None
    evidence = f"no process is listed that was not there before, but bytes cannot prove it: {why}"
    return Reason(word="unverifiable", evidence=evidence, patience="none")


def _bytes(ground: Ground, look: Look | None) -> Reason | None:
    """Nobody new is listed: what the bytes say."""
    if look is None:
        return None
    if look.used_bytes is None:
        evidence = f"its memory cannot be read: {look.used_reason or 'the driver does not say why'}. {_ASK}"
        return Reason(word="unverifiable", evidence=evidence)
    most = tolerance(ground.total_bytes)
    excess = look.used_bytes - allowed_bytes(ground, look)
    return _excess(ground, look, excess, most) if excess > most else None


def _excess(ground: Ground, look: Look, excess: int, most: int) -> Reason:
    """More is in use than before, and nobody is listed who was not there."""
    text = _bytes_text(ground, look)
    if look.list_reason is not None:
        evidence = f"{text} Who holds it is not visible here: the process list cannot be read ({look.list_reason})"
        return Reason(word="held_invisible", evidence=evidence)
    moved = _moved(ground, look, most)
    if moved is not None:
        return Reason(word="baseline_moved", evidence=f"{moved}. {text}")
    if excess < RESIDUE_BYTES:
        evidence = f"{text} No process is listed: so little is what a driver keeps, or a peer still maps. {_ASK}"
        return Reason(word="residue", evidence=evidence)
    evidence = (
        f"{text} No process is listed that was not there before, so whoever holds {memory_text(excess)} is not visible "
        "here: a process of another pid namespace (a container, or the host), or memory that a process on another "
        "device has mapped. Look on the host, and end the run's processes on other devices"
    )
    return Reason(word="held_invisible", evidence=evidence)


def _moved(ground: Ground, look: Look, most: int) -> str | None:
    """Whether processes of the baseline are what has changed, in words."""
    changes = [(holder, change) for holder, change in _changes(ground, look) if change]
    grown = sum(change for _, change in changes if change > 0)
    above = (look.used_bytes or 0) - (ground.baseline_bytes or 0)
    explained_by_growth = above > most and above - grown <= most
    hidden_by_leaving = above <= most
    if not changes or not (explained_by_growth or hidden_by_leaving):
        return None
    listed = {(holder.pid, holder.start) for holder in look.holders}
    parts = []
    for holder, change in changes:
        if (holder.pid, holder.start) not in listed:
            parts.append(f"{_named(holder)} was there before and has left with {_held(holder)}")
        else:
            word = "more" if change > 0 else "less"
            parts.append(f"{_named(holder)} was there before and holds {memory_text(abs(change))} {word} than then")
    return f"{_joined(parts)}: the baseline is not what it was, so the run's own memory cannot be told from it"


_ASK = "`grpotui gpus` shows the device as it is"


def _bytes_text(ground: Ground, look: Look) -> str:
    used = "an unknown part" if look.used_bytes is None else memory_text(look.used_bytes)
    if ground.baseline_bytes is None:
        return f"{used} of the device is in use."
    return f"{used} in use, {memory_text(ground.baseline_bytes)} before the run."


def _named(holder: Holder) -> str:
    if holder.owner == "unseen":
        return f"pid {holder.pid}, not visible here,"
    user = f", user {holder.user}" if holder.owner in ("other", "before") and holder.user else ""
    return f"{holder.name or 'a process'} (pid {holder.pid}{user})"


def _held(holder: Holder) -> str:
    return "an amount that the driver does not tell" if holder.used_bytes is None else memory_text(holder.used_bytes)


def _joined(parts: list[str]) -> str:
    shown = parts[:4]
    if len(parts) > len(shown):
        shown.append(f"{len(parts) - len(shown)} more")
    return "; ".join(shown)
