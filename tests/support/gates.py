"""A gate that holds ranks back, so that they end at the same instant or when the test says so."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FATES: dict[str, tuple[str, int | str]] = {
    "exit 0": ("exited", 0),
    "exit 3": ("exited", 3),
    "kill -SEGV $$": ("killed", "SIGSEGV"),
    "kill -ABRT $$": ("killed", "SIGABRT"),
    "kill -KILL $$": ("killed", "SIGKILL"),
    "exit 137": ("exited", 137),
}
"""Ways to end for a rank behind a gate, and what must stand on record."""


@dataclass
class Gate:
    """A FIFO that ranks read from before they go on."""

    path: Path
    descriptor: int
    waiting: int = 0

    @classmethod
    def at(cls, path: Path) -> Gate:
        """A closed gate."""
        os.mkfifo(path)
        return cls(path, os.open(path, os.O_RDWR))

    def argv(self, script: str) -> list[str]:
        """Words for a rank that runs the shell script once the gate is open."""
        self.waiting += 1
        return ["/bin/sh", "-c", f"read line < {shlex.quote(str(self.path))}; {script}"]

    def fates(self, count: int = len(FATES)) -> list[list[str]]:
        """Ranks that end in all ways there are, one after the other."""
        return [self.argv(list(FATES)[rank % len(FATES)]) for rank in range(count)]

    def open(self) -> None:
        """Lets all ranks go on, also those that come late: `read` takes one byte at a time."""
        os.write(self.descriptor, b"\n" * self.waiting)

    def close(self) -> None:
        os.close(self.descriptor)


def fates(count: int = len(FATES)) -> dict[int, tuple[str, int | str]]:
    """What `Gate.fates` must lead to, by rank."""
    return {rank: list(FATES.values())[rank % len(FATES)] for rank in range(count)}
