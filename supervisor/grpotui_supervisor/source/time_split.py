"""Where the time of each step went: the parts that the log prints, or else those that the hook saw.

The two are never mixed, in a step or among them: they time different things.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.source.metrics import Metrics
    from grpotui_supervisor.source.probes import Probes

PARTS: Final = ("generate", "wait", "reward", "logprob", "reference", "update", "sync", "validate")
"""In the order in which they come in a step; each is the metric `time/<part>`."""
_ROUNDING: Final = 1.02
"""Printed times are rounded, and are taken one after the other."""


class Split(NamedTuple):
    """One step's times, in seconds."""

    row: int
    """Of the record that printed them; of those of the hook, which step it was among those that it saw."""
    step: int | None
    parts: dict[str, float]
    """Those that are known: by part, or by the word of a phase that the hook told."""
    whole: float | None
    """`time/step`, where it was printed; from the begin to the end that the trainer told."""
    other: float | None
    """The rest of the whole; None where the parts do not lie inside it, or it is not known."""
    told_by: Literal["log", "hook"] = "log"


def split_of(row: int, step: int | None, metrics: Mapping[str, float]) -> Split | None:
    """None where the record has no times.

    A validation may lie inside the step or, as in verl's newer trainer, behind it: it is taken to be inside where it
    has room there. Where the other parts do not have room either, they overlap, and nothing can be said of a rest.
    """
    parts = {part: value for part in PARTS if _is_time(value := metrics.get(f"time/{part}", math.nan))}
    whole = metrics.get("time/step")
    if whole is None or not _is_time(whole):
        return Split(row, step, parts, None, None) if parts else None
    total = sum(parts.values())
    if total > whole * _ROUNDING:
        total -= parts.get("validate", 0.0)
    fits = bool(parts) and total <= whole * _ROUNDING
    return Split(row, step, parts, whole, max(0.0, whole - total) if fits else None)


def timed_split(index: int, probes: Probes) -> Split:
    """A step as the hook saw it: its phases lie inside it and behind one another, so what is left is known."""
    step, begin, end = probes.steps.window(index)
    parts: dict[str, float] = defaultdict(float)
    for phase, since, until in probes.phase_times.spans(begin, end):
        parts[phase] += (min(until, end) - since) / 1e9
    whole = (end - begin) / 1e9
    return Split(index, step, _in_order(parts), whole, max(0.0, whole - sum(parts.values())), "hook")


def _in_order(parts: Mapping[str, float]) -> dict[str, float]:
    """Those of the log's words first, as there; then the hook's own."""
    return {part: parts[part] for part in (*PARTS, *sorted(parts.keys() - set(PARTS))) if part in parts}


class Splits:
    """The newest splits of a source; each record, and each step of the hook, is looked at once."""

    def __init__(self, metrics: Metrics, probes: Probes | None = None) -> None:
        """`probes`: what the hook told of the same run; None for a bare log."""
        self._metrics = metrics
        self._probes = probes
        self._known: dict[int, Split | None] = {}
        self._timed: dict[int, Split] = {}

    def last(self, count: int, rows: int | None = None) -> list[Split]:
        """Of the last `count` of the first `rows` records, those that have times. The very last may still change.

        Where none of them has parts, those of the last `count` steps that the hook told.
        """
        printed = self._printed(count, self._metrics.steps if rows is None else rows)
        if self._probes is None or not len(self._probes.steps) or any(split.parts for split in printed):
            return printed
        end = len(self._probes.steps)
        wanted = range(max(0, end - count), end)
        self._timed = {at: self._timed.get(at) or timed_split(at, self._probes) for at in wanted}
        return list(self._timed.values())

    def _printed(self, count: int, end: int) -> list[Split]:
        wanted = range(max(0, end - count), end)
        self._known.pop(end - 1, None)
        for row in wanted:
            if row not in self._known:
                self._known[row] = split_of(row, self._metrics.step_of(row), self._metrics.metrics(row))
        self._known = {row: self._known[row] for row in wanted}
        return [split for split in self._known.values() if split is not None]


def _is_time(value: float) -> bool:
    return math.isfinite(value) and value >= 0
