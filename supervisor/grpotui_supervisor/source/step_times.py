"""When which step was under way, by the moments at which its record came."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui_supervisor.source.logs import Logs


class Window(NamedTuple):
    """From the record of the step before to its own, in monotonic nanoseconds.

    Where several records came at once, or not every step is printed, it holds the steps since the one before.
    """

    step: int
    begin: int
    end: int


class TrainerSteps:
    """The steps that the trainer itself told the begin and the end of, in the order of their ends."""

    __slots__ = ("_begin", "begins", "ends", "steps")

    def __init__(self) -> None:
        self.steps, self.begins, self.ends = array("q"), array("q"), array("q")
        self._begin: int | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def begin(self, moment: int) -> None:
        """The next one begins; one that has not ended before never will."""
        self._begin = moment

    def end(self, step: int, moment: int) -> None:
        """It is done; where nothing told of its beginning, it is left out."""
        begin, self._begin = self._begin, None
        if begin is not None and begin <= moment:
            self.steps.append(step)
            self.begins.append(begin)
            self.ends.append(moment)

    def window(self, index: int) -> Window:
        """The one at an index."""
        return Window(self.steps[index], self.begins[index], self.ends[index])


def step_windows(steps: Sequence[int], moments: Sequence[int]) -> list[Window]:
    """The windows of records in their order; steps and moments below 0 are unknown.

    Where the steps go back, what came before counts no more. The first step has no window: nothing tells when it began.
    """
    found: list[Window] = []
    known: tuple[int, int] | None = None
    for step, moment in zip(steps, moments, strict=False):
        if step < 0 or moment < 0:
            continue
        if known is None or step < known[0]:
            found, known = [], (step, moment)
        elif step > known[0] and moment > known[1]:
            found.append(Window(step, known[1], moment))
            known = step, moment
        elif step > known[0]:  # another record of the same block
            known = step, known[1]
            if found:
                found[-1] = found[-1]._replace(step=step)
    return found


def step_at(windows: Sequence[Window], moment: int) -> int | None:
    """The step of the window that a moment is in."""
    index = bisect_left(windows, moment, key=lambda window: window.end)
    return windows[index].step if index < len(windows) and windows[index].begin < moment else None


def windows_of(logs: Logs, *, last: int) -> list[Window]:
    """Those of the last records of a run since it began again for the last time."""
    if logs.columns is None:
        return []
    steps, moments = logs.columns.steps, logs.moments
    return step_windows(steps[max(0, len(steps) - last) :], moments[max(0, len(steps) - last) : len(steps)])


def first_windows_of(logs: Logs, *, first: int) -> list[Window]:
    """Those of the first records since then."""
    if logs.columns is None:
        return []
    begin = logs.columns.restarts[-1].row if logs.columns.restarts else 0
    return step_windows(logs.columns.steps[begin : begin + first], logs.moments[begin : begin + first])
