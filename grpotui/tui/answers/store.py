"""Samples in an unnamed temporary file, and a small index of them in memory: about 100 bytes a sample."""

from __future__ import annotations

import json
import tempfile
from array import array
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui_supervisor.samples.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_BYTES: Final = 1 << 30
"""Of samples on disk; what comes behind them is not kept."""
UNKNOWN: Final = -1
_FAILED, _TRUNCATED = 1, 2
_DECODE = json.JSONDecoder().decode


class Criteria(NamedTuple):
    """Which samples are shown."""

    step: int | None = None
    until: int | None = None
    """No later step than that one, and none of unknown step; None: all."""
    failed: bool = False
    """Only those without a reward above 0."""
    truncated: bool = False
    """Only those that were cut off."""


class Answers:
    """Samples by number, in the order in which they came.

    Attributes:
        is_full: there are more than are kept.
        knows_ends: whether any tells how it ended.
    """

    def __init__(self) -> None:
        self.is_full = False
        self.knows_ends = False
        self._file = tempfile.TemporaryFile(prefix="grpotui-samples-")  # noqa: SIM115  (as long as the page)
        self._offsets, self._steps = array("Q", [0]), array("q")
        self._marks = bytearray()
        self._digests = array("q")
        self._group_of = array("I")
        self._groups: list[array[int]] = []
        self._numbers: dict[tuple[str, int | None, int | None], int] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, sample: Sample) -> None:
        """Takes one more.

        Raises:
            OSError: the disk of temporary files is full.
        """
        raw = json.dumps(asdict(sample)).encode("ascii")
        end = self._offsets[-1] + len(raw)
        if end > MOST_BYTES:
            self.is_full = True
            return
        self._file.seek(self._offsets[-1])
        self._file.write(raw)
        known = (sample.source, sample.step, sample.group if sample.group is not None else -1 - len(self))
        number = self._numbers.setdefault(known, len(self._groups))
        if number == len(self._groups):
            self._groups.append(array("I"))
        self._groups[number].append(len(self))
        self._group_of.append(number)
        self._digests.append(hash(sample.answer))
        self._marks.append(_mark(sample))
        self.knows_ends = self.knows_ends or sample.ended is not None
        self._offsets.append(end)
        self._steps.append(UNKNOWN if sample.step is None else sample.step)

    def get(self, number: int) -> Sample:
        """One of them."""
        begin, end = self._offsets[number], self._offsets[number + 1]
        self._file.seek(begin)
        return Sample(**_DECODE(self._file.read(end - begin).decode("ascii")))

    def close(self) -> None:
        """Gives the disk back."""
        self._file.close()

    def chosen(self, by: Criteria) -> array[int]:
        """Numbers of those that are shown, by their steps; unknown steps last."""
        steps, marks, wanted = self._steps, self._marks, _FAILED * by.failed | _TRUNCATED * by.truncated
        found = [
            number
            for number in range(len(steps))
            if marks[number] & wanted == wanted
            and (by.step is None or steps[number] == by.step)
            and (by.until is None or UNKNOWN < steps[number] <= by.until)
        ]
        found.sort(key=lambda number: (steps[number] == UNKNOWN, steps[number]))
        return array("I", found)

    def group(self, number: int) -> Sequence[int]:
        """All answers to the prompt of that one."""
        return self._groups[self._group_of[number]]

    def distinct(self, number: int) -> int:
        """How many different answers there are in its group."""
        return len({self._digests[one] for one in self.group(number)})


def _mark(sample: Sample) -> int:
    rewards = sample.rewards.values()
    failed = bool(rewards) and not any(value > 0 for value in rewards)
    return (_FAILED if failed else 0) | (_TRUNCATED if sample.ended == "truncated" else 0)
