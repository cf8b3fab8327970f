"""The copy of a compressed log: read unpacked once, from its beginning to its end."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.monitor.story import Story


class Packed:
    """One compressed log."""

    def __init__(self, path: str, copy: str, story: Story) -> None:
        self.path = path
        self._story = story
        self._out = os.open(copy, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._rest: Iterator[bytes] | None = None

    @property
    def is_read(self) -> bool:
        """Whether it is read to its end."""
        return self._story.is_read

    def look(self, budget: int) -> bool:
        """Unpacks at most about so many bytes; True: there is more."""
        if self.is_read:
            return False
        try:
            return self._look(budget)
        except OSError as error:
            self._rest = None  # the copy is as long as what it holds: the next look goes on behind that
            self._story.missing(error.strerror or str(error))
        except UsageError as error:
            self._rest = None
            self._story.missing(str(error))
        return False

    def _look(self, budget: int) -> bool:
        if self._rest is None:
            self._rest = self._begin()
        for block in self._rest:
            done = os.write(self._out, block)
            if done < len(block):
                self._rest = chain([block[done:]], self._rest)
            budget -= done
            if budget <= 0:
                return True
        self._story.read()
        return False

    def _begin(self) -> Iterator[bytes]:
        found = os.stat(self.path)
        if self._story.origin is None:
            self._story.begin(found, 0, "rotated", packed=True)
        return _behind(os.fstat(self._out).st_size, iter(Blocks(self.path)))


def _behind(count: int, content: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks without their first `count` bytes, which an earlier monitor has copied."""
    for block in content:
        if len(block) > count:
            yield block[count:]
        count = max(0, count - len(block))
