"""What the timeline is told of one log of an attached job: which file its bytes are from, and when there was none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.source.followed import ATTACHED, FollowedLog, Origin

if TYPE_CHECKING:
    import os

    from grpotui_supervisor.shim.journal import Journal


class Story:
    """What the timeline is told of one log."""

    def __init__(self, timeline: Journal, name: str, path: str, known: FollowedLog) -> None:
        self._timeline = timeline
        self._name = name
        self._path = path
        self._missing = known.reason if known.state == "missing" else None
        self.origin = known.origin
        self.is_read = known.state == "read"
        self._is_first = known.state is None

    def begin(self, found: os.stat_result, at: int, why: str, *, packed: bool = False) -> None:
        """From `at` on, the copy holds this file."""
        if self.origin is None:
            why = ATTACHED if self._is_first else "appeared"
        self.origin = Origin(found.st_dev, found.st_ino, at, packed)
        self._missing, self._is_first = None, False
        self._timeline.add(
            "origin", file=self._name, path=self._path, dev=found.st_dev, inode=found.st_ino, at=at,
            size=found.st_size, why=why, packed=packed,
        )  # fmt: skip

    def missing(self, why: str) -> None:
        """The file is not there, or cannot be read; said once."""
        if why != self._missing:
            self._missing, self._is_first = why, False
            self._timeline.add("missing", file=self._name, path=self._path, why=why)

    def back(self) -> None:
        """The same file is at its path again."""
        if self._missing is not None:
            self._missing = None
            self._timeline.add("back", file=self._name)

    def missed(self, why: str) -> None:
        """Bytes of it are in no copy, and nobody can tell how many."""
        self._timeline.add("missed", file=self._name, why=why)

    def read(self) -> None:
        """It is read to its end, and no more will come."""
        self.is_read = True
        self._timeline.add("read", file=self._name)
