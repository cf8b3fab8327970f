"""The memory of GPUs as one bar each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui.tui import memory
from grpotui.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.cells import Run, Sheet


class MemoryMeters(Drawn):
    """Baseline, torch allocated, torch reserved, driver side and free of each GPU."""

    DEFAULT_CSS = "MemoryMeters { width: 1fr; height: 1fr; }"

    def __init__(self, title: str, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._title = title
        self._gpus: Sequence[memory.Memory] = ()
        self._reason = "no GPU is known"

    def show(self, gpus: Sequence[memory.Memory], reason: str = "no GPU is known") -> None:
        """The GPUs in their order; `reason` stands there when there is none."""
        self._gpus, self._reason = gpus, reason
        self.redraw()

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """The bars."""
        return memory.draw(self._gpus, sheet, self._title, self._reason)
