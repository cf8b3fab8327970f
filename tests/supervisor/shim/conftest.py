"""Fixtures of the shim's tests: many trials, gates, and a parent that does not reap."""

from __future__ import annotations

import ctypes
import os
import random
from typing import TYPE_CHECKING

import pytest
from support.gates import Gate
from support.processes import reap
from support.runs import ShimRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Trial = tuple[ShimRun, Gate, random.Random]

_SUBREAPER = 36


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """A gate of the test's own."""
    found = Gate.at(tmp_path / "gate")
    yield found
    found.close()


@pytest.fixture
def trials(tmp_path: Path) -> Callable[[int], Iterator[Trial]]:
    """Runs for many trials of one fault, with a random number generator whose seed is printed.

    GRPOTUI_TEST_TRIALS multiplies their number, GRPOTUI_TEST_SEED repeats what was seen.
    """

    def each(count: int) -> Iterator[Trial]:
        seed = int(os.environ.get("GRPOTUI_TEST_SEED") or random.SystemRandom().randrange(1 << 30))
        count = round(count * float(os.environ.get("GRPOTUI_TEST_TRIALS", "1")))
        print(f"{count} trials, GRPOTUI_TEST_SEED={seed}")
        for number in range(count):
            name = f"{tmp_path.name}-{seed}-{number}"
            run, gate = ShimRun(tmp_path / f"run-{number}", run=name), Gate.at(tmp_path / f"gate-{number}")
            try:
                yield run, gate, random.Random(seed + number)
            finally:
                run.clean()
                gate.close()

    return each


@pytest.fixture
def never_reaps() -> Iterator[None]:
    """Makes this process the parent of what a dead shim leaves, and one that does not reap."""
    control = ctypes.CDLL(None).prctl
    control(_SUBREAPER, 1, 0, 0, 0)
    yield
    control(_SUBREAPER, 0, 0, 0, 0)
    reap()
