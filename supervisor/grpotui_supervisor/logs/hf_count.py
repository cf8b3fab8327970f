"""The steps of dictionaries that do not tell them: counted, where the trainer's `logging_steps` is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Count:
    """The trainer logs at each multiple of `logging_steps`, with `logging_first_step` at step 1 too.

    A resumed run goes on at the next multiple.
    """

    __slots__ = ("_every", "_first_step", "_resumed_from", "_wrote_first_step")

    def __init__(self, logging_steps: int | None, *, first_step: bool = False) -> None:
        self._every = logging_steps if logging_steps and logging_steps > 0 else None
        self._first_step = first_step
        self._resumed_from = 0
        self._wrote_first_step = False

    def after(self, last: int | None) -> int | None:
        """The step that is logged after `last` (None: the first one); None where it cannot be known."""
        if self._every is None:
            return None
        if last is None and (self._first_step or self._wrote_first_step) and not self._resumed_from:
            return 1
        return (max(last or 0, self._resumed_from) // self._every + 1) * self._every

    def steps(self) -> Iterator[int]:
        """All that are logged, from the first; none where they cannot be known."""
        step = self.after(None)
        while step is not None:
            yield step
            step = self.after(step)

    def told(self, first: int | None, written: int | None) -> bool:
        """Takes the first step that the bar showed to be done, and the first at which the trainer wrote.

        The bar is drawn at each dictionary, so in a run from step 0 it is drawn at `logging_steps` at the latest;
        after a checkpoint at step 500 it goes from 0 to 501 at once. True when the count changes.
        """
        before = (self._resumed_from, self._wrote_first_step)
        if self._every is not None:
            self._resumed_from = first - 1 if first is not None and first > self._every else 0
            self._wrote_first_step = written == 1
        return (self._resumed_from, self._wrote_first_step) != before
