"""Whether a launch may have its devices: looked at, warned about, refused or waited for.

The look and the claim are one step under the root's lock: of two launches that wait for the same device one starts,
and the other finds it claimed.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import GpuUnavailable, PreflightError
from grpotui_supervisor.gpu import baseline, visible
from grpotui_supervisor.gpu.claims import LOCK, claims, locked
from grpotui_supervisor.gpu.idle import Judgement, Seen, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from grpotui_supervisor.gpu.baseline import Looker, Snapshot
    from grpotui_supervisor.model.profile import Gpus

_POLL_SECONDS = 2.0
"""A process list walks every client of the driver under its lock, so it is not asked for more often."""
_SAY_SECONDS = 30.0
_LOCK_SECONDS = 10.0
"""Another launch holds the lock for as long as its shim takes to come up: 0.2 s."""


_AMBIGUOUS = (
    "which GPUs CUDA_VISIBLE_DEVICES means is not known, as CUDA_DEVICE_ORDER is not PCI_BUS_ID: "
    "all are taken for the run's"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a launch asks for."""

    gpus: Gpus
    environments: Sequence[Mapping[str, str]]
    """Of each process that is to be started."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A device of the run that is not known to be free."""

    text: str
    holders: tuple[object, ...]
    """Who is in the way: while it is the same, nothing new is to be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The devices as a launch finds them."""

    snapshot: Snapshot | None
    """None: they cannot be read, and `unavailable` says why."""
    unavailable: str | None = None
    own: frozenset[str] = frozenset()
    """Keys of the run's own devices."""
    obstacles: tuple[Obstacle, ...] = ()
    notes: tuple[str, ...] = ()
    """What the user should know, the obstacles included."""

    def document(self, secrets: Iterable[str] = ()) -> dict[str, Any]:
        """`gpus` and `gpu_unavailable` of run.json."""
        found = None if self.snapshot is None else baseline.document(self.snapshot, self.own, secrets)
        return {"gpus": found, "gpu_unavailable": self.unavailable}


def look(looker: Looker, wanted: Wanted, root: str) -> Found:
    """The devices now, and what stands in the way of the run.

    Raises:
        UsageError: the profile names a device that is not there.
        RunDirectoryError: the root is unsafe.
    """
    try:
        snapshot = looker.look()
    except GpuUnavailable as reason:
        named = wanted.gpus.devices or wanted.gpus.wait or wanted.gpus.busy == "refuse"
        notes = (f"the GPUs of the profile are not looked at: {reason}",) if named else ()
        return Found(snapshot=None, unavailable=str(reason), notes=notes)
    own, doubts = _own(wanted, snapshot)
    claimed = claims(root) if own else {}
    seen = [one for one in snapshot.seen if one.device.key in own]
    obstacles = tuple(o for one in seen if (o := _obstacle(one, claimed.get(str(one.device.uuid)))) is not None)
    return Found(snapshot=snapshot, own=own, obstacles=obstacles, notes=(*doubts, *(o.text for o in obstacles)))


def _own(wanted: Wanted, snapshot: Snapshot) -> tuple[frozenset[str], tuple[str, ...]]:
    devices = [seen.device for seen in snapshot.seen]
    values = {(env.get(visible.VARIABLE), env.get("CUDA_DEVICE_ORDER")) for env in wanted.environments}
    if wanted.gpus.devices is None and any(visible.is_ambiguous(*value, devices) for value in values):
        return visible.chosen(None, [None], devices), (_AMBIGUOUS,)
    return visible.chosen(wanted.gpus.devices, [value for value, _ in values], devices), ()


def _obstacle(seen: Seen, run: str | None) -> Obstacle | None:
    judgement = judge(seen)
    holders = tuple(sorted((p.pid, p.type) for p in seen.listed.processes))
    if run is not None:
        return Obstacle(_claimed(seen, run, judgement), (seen.device.key, run))
    return None if judgement.idle else Obstacle(judgement.evidence, (seen.device.key, holders))


def _claimed(seen: Seen, run: str, judgement: Judgement) -> str:
    held = judgement.evidence.partition("is not idle: ")[2]
    return f"{seen.label} is used by the live run {run}" + (f": {held}" if held else "")


@contextlib.contextmanager
def granted(looker: Looker, wanted: Wanted, root: str, say: Callable[[str], None]) -> Iterator[Found]:
    """Waits as the profile says, then holds the lock while the body makes the run that claims the devices.

    Raises:
        PreflightError: a device is not free, or that cannot be told, and the profile does not go on then.
        UsageError: see `look`; RunDirectoryError likewise.
    """
    turn = _Turn(wanted.gpus, say)
    while True:
        with _claiming(looker, wanted, root) as (found, is_held):
            if turn.has_come(found, is_held=is_held):
                yield found
                return
        turn.pause()


@contextlib.contextmanager
def _claiming(looker: Looker, wanted: Wanted, root: str) -> Iterator[tuple[Found, bool]]:
    """The devices, seen under the lock, and whether it is held; where there is nothing to claim nothing is locked."""
    found = look(looker, wanted, root)
    if not found.own:
        yield found, True
        return
    with locked(root, _LOCK_SECONDS) as is_held:
        yield look(looker, wanted, root), is_held


class _Turn:
    """What the profile makes of what was found, and of the time it took."""

    def __init__(self, gpus: Gpus, say: Callable[[str], None]) -> None:
        self._say = say
        self._gpus = gpus
        self._began = time.monotonic()
        self._said: tuple[float, object] | None = None

    def has_come(self, found: Found, *, is_held: bool) -> bool:
        """Whether the run may start.

        Raises:
            PreflightError: it may not, and is not to be waited for any longer.
        """
        wait, gpus = self._gpus.wait_seconds, self._gpus
        if gpus.devices == () or (wait is None and gpus.busy == "warn"):
            return True
        if found.snapshot is None and self._said is None:
            asked = f'wait = "{gpus.wait}"' if wait is not None else 'busy = "refuse"'
            raise PreflightError(
                f"[gpus] {asked} cannot be honoured: {found.unavailable}", hint="take it out of the profile to start"
            )
        in_the_way = self._in_the_way(found, is_held=is_held)
        if not in_the_way:
            self._say_that_it_is_over()
            return True
        if wait is None or time.monotonic() >= self._began + wait:
            raise self._refusal(in_the_way)
        self._tell(in_the_way, wait)
        return False

    def pause(self) -> None:
        """Until the next look; not beyond the end of the wait."""
        left = self._began + (self._gpus.wait_seconds or 0) - time.monotonic()
        time.sleep(max(0.0, min(_POLL_SECONDS, left)))

    def _in_the_way(self, found: Found, *, is_held: bool) -> tuple[Obstacle, ...]:
        if found.snapshot is None:
            return (Obstacle(f"{found.unavailable}", (found.unavailable,)),)
        if not found.obstacles and not is_held:
            return (Obstacle(f"another launch is looking at them ({LOCK} of the state directory is held)", (LOCK,)),)
        return found.obstacles

    def _refusal(self, in_the_way: Sequence[Obstacle]) -> PreflightError:
        wait = self._gpus.wait
        head = "the run's GPUs are not free" if wait is None else f"the run's GPUs did not become free within {wait}"
        return PreflightError(
            "\n  ".join([f"{head}:", *(o.text for o in in_the_way)]),
            hint="who holds what: grpotui gpus" + (' · to wait: --set gpus.wait="30m"' if wait is None else ""),
        )

    def _tell(self, in_the_way: Sequence[Obstacle], wait: float) -> None:
        """At the start, and when somebody else is in the way than before, at most every 30 s."""
        now, who = time.monotonic(), tuple(o.holders for o in in_the_way)
        if self._said is not None and (self._said[1] == who or now < self._said[0] + _SAY_SECONDS):
            return
        left = f"up to {self._gpus.wait}" if self._said is None else f"up to {self._began + wait - now:.0f} s more"
        self._say("\n  ".join([f"waiting {left} for the run's GPUs:", *(o.text for o in in_the_way)]))
        self._said = (now, who)

    def _say_that_it_is_over(self) -> None:
        if self._said is not None:
            self._say(f"the run's GPUs are free after {time.monotonic() - self._began:.0f} s")
