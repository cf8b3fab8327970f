"""The parts of each step's time as stacked bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui.tui import bars
from grpotui.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.cells import Run, Sheet


class StackedBars(Drawn):
    """One bar a step, the newest at the right; the newest alone where there are less than four rows."""

    DEFAULT_CSS = "StackedBars { width: 1fr; height: 1fr; }"

    def __init__(self, title: str, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._title = title
        self._steps: Sequence[bars.Step] = ()
        self._reason = bars.NO_TIMES

    def show(self, steps: Sequence[bars.Step], reason: str = bars.NO_TIMES) -> None:
        """The steps in their order; more than there is room for do no harm. `reason` says why there is none."""
        self._steps, self._reason = steps, reason
        self.redraw()

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """The bars."""
        return bars.draw(self._steps, sheet, self._title, self._reason)
