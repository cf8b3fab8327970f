"""What the log's memory lines tell: the newest of each place in the code, and the most of each step."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from grpotui_supervisor.logs.memory_lines import place_of
from grpotui_supervisor.source.progress_fields import age

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.logs.memory_lines import Group, Place, Printed
    from grpotui_supervisor.source.source import Source

MAX_PLACES = 512
"""Labels beyond these are not kept: a garbled log must not open a series a line."""
KEPT_STEPS = 2048
"""Steps of a label that are kept at least."""
_GIB = 1 << 30
_UNKNOWN = -1


class StepMemory(NamedTuple):
    """The most of each number that one label told between two records, in bytes."""

    step: int | None
    """Of the record before; None before the first."""
    allocated: int
    reserved: int
    device_used: int | None


class Label:
    """The lines of one label in one process, in the order in which they were printed.

    Attributes:
        origin: the member whose log it is; empty for the one with the metrics.
        m: when the log grew by the newest, in monotonic nanoseconds; None for a bare log.
        step: of the record before it.
    """

    __slots__ = ("_allocated", "_latest", "_reserved", "_steps", "_used", "m", "origin", "place", "step")

    def __init__(self, origin: str, place: Place) -> None:
        self.origin, self.place = origin, place
        self.m: int | None = None
        self.step: int | None = None
        self._latest: Printed = b"nan", b"nan", None, None
        self._steps = array("q")
        self._allocated, self._reserved, self._used = array("d"), array("d"), array("d")

    def take(self, printed: Printed, m: int | None, step: int | None) -> None:
        """One more line."""
        self._latest, self.m, self.step = printed, m, step
        key, steps = _UNKNOWN if step is None else step, self._steps
        allocated, reserved, used = float(printed[0]), float(printed[1]), float(printed[2] or _UNKNOWN)
        if steps and steps[-1] == key:
            self._allocated[-1] = max(allocated, self._allocated[-1])
            self._reserved[-1] = max(reserved, self._reserved[-1])
            self._used[-1] = max(used, self._used[-1])
            return
        steps.append(key)
        self._allocated.append(allocated)
        self._reserved.append(reserved)
        self._used.append(used)
        if len(steps) >= 2 * KEPT_STEPS:
            for each in (steps, self._allocated, self._reserved, self._used):
                del each[:KEPT_STEPS]

    @property
    def numbers(self) -> dict[str, int | None]:
        """The newest, in bytes: torch's two, and the driver's of the whole device where they are printed."""
        names = ("allocated_bytes", "reserved_bytes", "device_used_bytes", "device_total_bytes")
        return {
            name: None if text is None else _bytes(float(text)) for name, text in zip(names, self._latest, strict=True)
        }

    def series(self) -> Iterator[StepMemory]:
        """One for each step in which there was such a line, in the order in which they were printed."""
        for step, allocated, reserved, used in zip(
            self._steps, self._allocated, self._reserved, self._used, strict=True
        ):
            known = None if used < 0 else _bytes(used)
            yield StepMemory(None if step < 0 else step, _bytes(allocated), _bytes(reserved), known)


def _bytes(gib: float) -> int:
    return round(gib * _GIB)


class LoggedMemory:
    """All memory lines of a run.

    Attributes:
        labels: each label of each process, in the order of their first lines.
    """

    def __init__(self) -> None:
        self.labels: list[Label] = []
        self._known: dict[tuple[str, bytes], Label | None] = {}
        self._by_place: dict[tuple[str, Place], Label] = {}

    def take(self, group: Group, origin: str, *, m: int | None, step: int | None) -> None:
        """Lines of the log of `origin` (a member, empty for the one with the metrics) behind a step's record."""
        known = self._known
        for head, printed in group.lines:
            key = origin, head
            label = known[key] if key in known else self._find(origin, head)
            if label is not None:
                label.take(printed, m, step)

    def _find(self, origin: str, head: bytes) -> Label | None:
        """That of a line which begins so; the time in a logger's prefix makes each of its lines begin otherwise."""
        place, label = place_of(head), None
        if place is not None:
            label = self._by_place.get((origin, place))
        if place is not None and label is None and len(self.labels) < MAX_PLACES:
            label = self._by_place[origin, place] = Label(origin, place)
            self.labels.append(label)
        if len(self._known) < 2 * MAX_PLACES:
            self._known[origin, head] = label
        return label


def memory_line_fields(source: Source) -> list[dict[str, Any]]:
    """`memory_lines` of the status document: the newest of each label."""
    return [
        {
            "member": member_of(source, label),
            "process": label.place.process,
            "label": label.place.label,
            **label.numbers,
            "step": label.step,
            "age_s": age(source, label.m),
        }
        for label in source.logs.memory.labels
    ]


def member_of(source: Source, label: Label) -> str:
    """The observed worker whose pid Ray wrote in front of the line, else the member whose log it is.

    A pid alone names a process of one machine only, so of several workers with it none is meant.
    """
    pid = label.place.pid
    workers = [m.key for m in source.run.members.values() if not m.owned and m.pid == pid] if pid is not None else []
    return workers[0] if len(workers) == 1 else label.origin or source.logs.metrics_member
