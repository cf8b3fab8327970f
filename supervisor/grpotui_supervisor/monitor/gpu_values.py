"""Readings of the GPUs on record: what has changed, and all of them every ten seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from grpotui_supervisor.model.gpu import SLOWED
from grpotui_supervisor.monitor.gpu_budget import Matters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.model.gpu import Reading
    from grpotui_supervisor.monitor.gpu_budget import Budget

_HEARTBEAT_NS = 9_500_000_000
"""Ten seconds, less half a look."""
_DRIFT_NS = 4_000_000_000
_REST_NS = 5_000_000_000
_SHARE = 0.01
_UTIL, _POWER_SHARE, _TEMP = 10, 0.05, 2
_TROUBLE = sum(SLOWED)
_FIELDS = {
    "used_bytes": "used",
    "utilization_percent": "util",
    "power_w": "power",
    "temperature_c": "temp",
    "clock_reasons": "clocks",
}
"""Names of a reading's fields in the record."""


class _Told(NamedTuple):
    reading: Reading
    m: int


class Values:
    """Writes what is news of each device's readings; what is absent is said once, a device that is lost, each time."""

    def __init__(self, budget: Budget, *, absent: set[tuple[str, str]], lost: set[str]) -> None:
        """`absent`, `lost`: what an earlier monitor has said."""
        self._budget = budget
        self._absent = absent
        self._lost = lost
        self._told: dict[str, _Told] = {}
        self._beat_m: int | None = None

    def take(self, m: int, read: Mapping[str, Reading], totals: Mapping[str, int | None], window: Matters) -> None:
        """One look at all devices. `window`: how much anything matters now, beside what it is itself."""
        present = {key: reading for key, reading in read.items() if self._is_present(key, reading, m)}
        beat = self._beat_m is None or m - self._beat_m >= _HEARTBEAT_NS
        if beat and self._budget.allows(Matters.ONCE, m):
            self._beat_m = m
            news = set(present)
        else:
            news = {key for key, reading in present.items() if self._is_news(key, reading, m, totals.get(key), window)}
        if news:
            self._told.update({key: _Told(present[key], m) for key in news})
            self._budget.add("gpus", read={key: _fields(present[key]) for key in read if key in news})

    def _is_present(self, key: str, reading: Reading, m: int) -> bool:
        """Whether the device answers; what it does not tell is said."""
        if reading.lost is not None:
            if key not in self._lost:
                self._lost.add(key)
                self._budget.add("lost", gpu=key, reason=reading.lost)
            return False
        if key in self._lost:
            self._lost.discard(key)
            self._budget.add("found", gpu=key)
        for name, reason in reading.absent.items():
            field = _FIELDS.get(name, name)
            if (key, field) not in self._absent and self._budget.allows(Matters.ONCE, m):
                self._absent.add((key, field))
                self._budget.add("absent", gpu=key, field=field, reason=reason)
        return True

    def _is_news(self, key: str, reading: Reading, m: int, total: int | None, window: Matters) -> bool:
        told = self._told.get(key)
        matters = Matters.MUCH if told is None else _matters(told.reading, reading, m - told.m, total)
        if matters is None and window <= Matters.AT_A_DEATH and told is not None:
            matters = window if reading.used_bytes != told.reading.used_bytes else None
        return matters is not None and self._budget.allows(min(matters, window), m)


def _matters(before: Reading, now: Reading, age: int, total: int | None) -> Matters | None:
    """How much the change since the last record matters; None: not at all, or not yet."""
    moved = _change(before.used_bytes, now.used_bytes)
    if moved is None or moved >= _SHARE * (total or 0) > 0:
        return Matters.MUCH
    if ((before.clock_reasons or 0) ^ (now.clock_reasons or 0)) & _TROUBLE:
        return Matters.MUCH
    if moved and age >= _DRIFT_NS:
        return Matters.SOME
    return Matters.LITTLE if age >= _REST_NS and _rest_moved(before, now) else None


def _rest_moved(before: Reading, now: Reading) -> bool:
    limits = (
        (before.utilization_percent, now.utilization_percent, _UTIL),
        (before.power_w, now.power_w, max(_POWER_SHARE * (before.power_w or 0), 1.0)),
        (before.temperature_c, now.temperature_c, _TEMP),
    )
    changes = ((_change(old, new), least) for old, new, least in limits)
    return any(change is None or change >= least for change, least in changes)


def _change(before: float | None, now: float | None) -> float | None:
    """By how much; None: it was not known, or is not any more."""
    if before is None or now is None:
        return 0 if before is now else None
    return abs(now - before)


def _fields(reading: Reading) -> dict[str, Any]:
    found = {name: getattr(reading, field) for field, name in _FIELDS.items()}
    if reading.power_w is not None:
        found["power"] = round(reading.power_w, 1)
    return found
