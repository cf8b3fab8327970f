"""How much of the first page there is room for at a size of the terminal. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

COMPACT: Final = (100, 32)
"""Narrower or lower than this there are no frames but those of the charts."""
_HISTORY_FROM: Final = 110
_WIDE: Final = 160
"""From here on there are four charts in a row."""
_LEAST_CHART: Final = 8
"""Rows of a chart, where a row of charts more is to be worth it."""
_LOW: Final = 16
"""Rows that the charts leave to the rest at least."""


@dataclass(frozen=True, slots=True)
class Room:
    """The cells of the page, and what is made of them."""

    wide: int = 80
    high: int = 22

    @property
    def compact(self) -> bool:
        """Whether every row counts."""
        return self.wide < COMPACT[0] or self.high + 2 < COMPACT[1]

    def history(self, *, told: bool) -> bool:
        """Whether the memory's history has a place beside the meters, which have more to say once an end was `told`."""
        return not self.compact and self.wide >= (_WIDE if told else _HISTORY_FROM)

    @property
    def across(self) -> int:
        """Charts in a row."""
        return 4 if self.wide >= _WIDE else 3

    def further(self, pinned: int) -> int:
        """Charts beside the six: those that are pinned, or all that fit without making the six small."""
        if self.compact:
            return 0
        rows = max(2, (self.high - _LOW) // (_LEAST_CHART + 3))
        fitting = min(3, rows) * self.across - 6
        if pinned and fitting < pinned and (self.high - _LOW) // 3 >= _LEAST_CHART - 2:
            fitting = max(fitting, 3 * self.across - 6)
        return min(6, max(0, fitting))

    def grid(self, charts: int) -> tuple[int, int]:
        """Columns and rows for so many charts."""
        across = 3 if charts in (6, 9) else self.across
        return across, -(-charts // across)


def room_for(wide: int, high: int) -> Room:
    """That of a page of so many cells."""
    return Room(wide, high)
