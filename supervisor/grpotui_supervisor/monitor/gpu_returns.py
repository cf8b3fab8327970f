"""The run's devices after its end: each is judged until it is back, or nothing more can be told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from grpotui_supervisor.gpu.reasons import Look
from grpotui_supervisor.gpu.returning import HARD_LARGE_S, Returned, Returning, advance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.gpu.reasons import Ends, Ground
    from grpotui_supervisor.gpu.returning import Verdict
    from grpotui_supervisor.model.gpu import Reading
    from grpotui_supervisor.monitor.gpu_budget import Budget
    from grpotui_supervisor.monitor.gpu_lists import Listed
    from grpotui_supervisor.monitor.gpu_said import Said

_SECOND = 1_000_000_000


@dataclass(slots=True)
class _Half:
    """A reading that waits for its process list."""

    m: int
    reading: Reading


class Returns:
    """The verdict of each device of the run."""

    def __init__(self, budget: Budget, said: Said) -> None:
        self._budget = budget
        self._said = said
        self._devices: dict[str, Returning] = {}
        self._halves: dict[str, _Half] = {}

    def found(self, grounds: Mapping[str, Ground]) -> None:
        """The devices of the run, once they are known; told again, they keep what was seen of them."""
        for key, ground in grounds.items():
            known = self._devices.get(key)
            if known is None:
                said_m, said = self._said.verdicts.get(key, (0, None))
                known = Returning(ground=ground, held_bytes=self._said.most_bytes.get(key, 0), said=said, said_m=said_m)
            self._devices[key] = replace(known, ground=ground)

    def read(self, m: int, read: Mapping[str, Reading], ends: Ends, now: int) -> None:
        """Readings; a look is complete with the process list behind it."""
        for key in self._devices.keys() & read.keys():
            reading = read[key]
            if reading.lost is not None:
                self._advance(key, ends, now, Look(m=m, lost=reading.lost))
            else:
                self._halves[key] = _Half(m, reading)

    def listed(self, lists: Mapping[str, Listed], ends: Ends, now: int) -> None:
        """Process lists: each completes the last reading of its device."""
        for key, listed in lists.items():
            half = self._halves.pop(key, None)
            if half is not None:
                used_reason = half.reading.absent.get("used_bytes")
                look = Look(
                    m=half.m, used_bytes=half.reading.used_bytes, used_reason=used_reason,
                    holders=listed.holders, list_reason=listed.reason,
                )  # fmt: skip
                self._advance(key, ends, now, look)

    def passed(self, ends: Ends, now: int, silent_s: float) -> None:
        """Time has passed."""
        for key in tuple(self._devices):
            self._advance(key, ends, now, silent_s=silent_s)

    def is_waiting(self, ends: Ends, now: int) -> bool:
        """Whether a device may still come back, so that each quarter of a second counts."""
        since = ends.last_m if ends.last_m is not None else ends.ranks_m
        if since is None or now - since > (HARD_LARGE_S + 5) * _SECOND:
            return False
        return not self.are_settled(ends)

    def are_settled(self, ends: Ends) -> bool:
        """Whether every device of the run is back, or has its final reason."""
        return all(device.is_settled(ends) for device in self._devices.values())

    def _advance(self, key: str, ends: Ends, now: int, look: Look | None = None, silent_s: float = 0.0) -> None:
        self._devices[key], verdict = advance(self._devices[key], ends=ends, now=now, look=look, silent_s=silent_s)
        if verdict is not None:
            self._record(key, verdict)

    def _record(self, key: str, verdict: Verdict) -> None:
        event = "returned" if isinstance(verdict, Returned) else "not_returned"
        self._budget.add(event, gpu=key, **asdict(verdict))
