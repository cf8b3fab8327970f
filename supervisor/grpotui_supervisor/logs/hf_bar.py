"""Which of the progress bars in a stream is the trainer's, and how far it is.

The trainer's tqdm bar has no label (ms-swift's is `Train:`). Evaluation and user code draw bars without a label
too: the trainer's is the one whose line is cleared and redrawn around a printed dictionary.
"""

from __future__ import annotations

import re
from typing import Final

DRAWING: Final = r"%(?:\|[^|{}╭\r\n]*\|)? *([0-9]{1,12})/([0-9]{1,12}) \["
"""From the percentage to `n/N [`; a bar copied out of a notebook has no `|...|`, and no bar has an item inside."""

PREFIX: Final = r"(?:[\w.\-]+: ?)?\[(?:default|rank)?[0-9]{1,6}\]: ?"
"""What torchrun, DeepSpeed and pdsh put before a line: `[default0]:`, `node-1: [rank3]: `."""

TRAINERS_BAR: Final = re.compile(rf"(?:{PREFIX})?\s*(?:Train: *)?[0-9]{{1,3}}{DRAWING}")
"""To be matched at the start of a line."""

REDRAWN: Final = " \r\r"
"""Stands before a bar that was cleared with spaces and drawn again: `tqdm.write` was called in between."""


class Bar:
    """The trainer's bar in one stream.

    Attributes:
        done: steps done, as of the last drawing; None before the first.
        total: steps in all.
        first: the first number of steps done that was drawn and is not 0: where a resumed run starts.
        written: the first step at which the trainer wrote through this bar.
        sure: the trainer has written through this bar, so no other can take its place.
    """

    __slots__ = ("done", "first", "sure", "total", "written")

    def __init__(self) -> None:
        self.done: int | None = None
        self.total: int | None = None
        self.first: int | None = None
        self.written: int | None = None
        self.sure = False

    def draw(self, done: int, total: int, *, redrawn: bool) -> bool:
        """A bar was drawn; False when it is not the trainer's."""
        if total != self.total:
            if not self._may_be_the_trainers(done):
                return False
            self.total, self.first, self.written, self.sure = total, None, None, False
        self.done = done
        self.sure = self.sure or redrawn
        if done and self.first is None:
            self.first = done
        if done and redrawn and self.written is None:
            self.written = done
        return True

    def _may_be_the_trainers(self, done: int) -> bool:
        """The trainer's starts at 0; one that reached its end before the trainer wrote anything was another's."""
        return self.total is None or (not self.sure and done == 0 and self.done == self.total)
