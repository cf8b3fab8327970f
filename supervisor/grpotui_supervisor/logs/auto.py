"""Reads a log whose framework nobody named: all readers listen until one of them finds a record.

Until then only open lines are held (at most 1 MiB a stream and reader); then the other readers are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.logs.columns import Columns
from grpotui_supervisor.logs.reader import LINE_END

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grpotui_supervisor.logs.reader import Reader


class AutoReader:
    """Becomes the first of its candidates that yields a record; on one line, the earlier in the list."""

    def __init__(self, factories: Iterable[Callable[[], Reader]]) -> None:
        self._candidates = tuple(make() for make in factories)
        self._adopted: Reader | None = None
        self._nothing = Columns()

    @property
    def framework(self) -> str:
        """The recognised framework, "auto" until there is one."""
        return "auto" if self._adopted is None else self._adopted.framework

    @property
    def columns(self) -> Columns:
        """The adopted reader's columns; empty until then."""
        return self._nothing if self._adopted is None else self._adopted.columns

    @property
    def step(self) -> int | None:
        """None until a framework is recognised: another program's bar is no step."""
        return None if self._adopted is None else self._adopted.step

    @property
    def steps_total(self) -> int | None:
        """None until a framework is recognised."""
        return None if self._adopted is None else self._adopted.steps_total

    @property
    def training_complete(self) -> bool:
        """False until a framework is recognised."""
        return self._adopted is not None and self._adopted.training_complete

    @property
    def phase(self) -> str | None:
        """None until a framework is recognised."""
        return None if self._adopted is None else self._adopted.phase

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:
        """Read the next bytes of a stream."""
        start = 0
        if self._adopted is None:
            start = self._feed_lines(block, stream)
        for reader in self._candidates:
            reader.feed(block[start:], stream=stream)

    def _feed_lines(self, block: bytes, stream: str) -> int:
        """Feed line by line, so that how bytes are cut does not decide who is first. Returns bytes read."""
        start = 0
        for end in LINE_END.finditer(block):
            line = block[start : end.end()]
            start = end.end()
            for reader in self._candidates:
                reader.feed(line, stream=stream)
                if len(reader.columns):
                    self._adopted, self._candidates = reader, (reader,)
                    return start
        return start
