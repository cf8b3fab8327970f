"""Whether a series grows, and how fast: robust, without a model of its noise. Pure.

A slope is Theil's and Sen's estimate, the median of the slopes of all pairs of points (Sen 1968, "Estimates of the
regression coefficient based on Kendall's tau", J. Am. Stat. Assoc. 63; it bears 29 % of wild points). Whether there is
a trend at all is the test of Mann and Kendall (Mann 1945, Econometrica 13): S, the pairs that rise less those that
fall, has the variance n(n - 1)(2n + 5)/18 where there is none. Ties are left out of account, which makes it say less.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Point = tuple[int, int]
"""Step and bytes."""

LEAST_POINTS: Final = 8
WINDOW: Final = 24
LONG_WINDOW: Final = 480
"""Points in which a slow growth is looked for, as the peaks of `WINDOW` groups of them."""

_RISING_SHARE: Final = 0.8
_LEAST_Z: Final = 3.0
"""One series in 700 without a trend reaches that by chance; among 8 points one of them may fall."""


class Trend(NamedTuple):
    """A growth."""

    slope: float
    """Bytes a step."""
    first: int
    """Step of the first point."""
    last: int
    last_value: int

    @property
    def grown(self) -> float:
        """Over the window, by the slope."""
        return self.slope * (self.last - self.first)


def theil_sen(points: Sequence[Point]) -> float:
    """The median slope of all pairs; steps ascend strictly, and there are two at least."""
    return median(_slopes(points))


def mann_kendall(points: Sequence[Point]) -> tuple[float, float]:
    """The share of pairs that rise, and the z of Mann and Kendall with its correction for continuity."""
    slopes, count = _slopes(points), len(points)
    rising = sum(slope > 0 for slope in slopes)
    score = rising - sum(slope < 0 for slope in slopes)
    deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return rising / len(slopes), (score - (score > 0) + (score < 0)) / deviation


def growth(points: Sequence[Point], *, least: float) -> Trend | None:
    """The trend of these points if they grow by more than `least` bytes, and consistently so; else None."""
    values = [value for _, value in points]
    if len(points) < LEAST_POINTS or max(values) - min(values) <= least:
        return None
    share, z = mann_kendall(points)
    found = Trend(theil_sen(points), points[0][0], *points[-1])
    return found if share >= _RISING_SHARE and z >= _LEAST_Z and found.grown > least else None


def latest_growth(points: Sequence[Point], *, least: float) -> Trend | None:
    """The same of the last `WINDOW` points, or else of the last `LONG_WINDOW`: a slow leak takes longer to show."""
    found = growth(points[-WINDOW:], least=least)
    return (
        growth(peaks(points[-LONG_WINDOW:], WINDOW), least=least) if found is None and len(points) > WINDOW else found
    )


def peaks(points: Sequence[Point], groups: int) -> list[Point]:
    """The greatest of each of so many groups in a row, at the group's last step; the first may be smaller."""
    size = -(-len(points) // groups)
    ends = range(len(points), 0, -size)
    found = [points[max(0, end - size) : end] for end in ends]
    return [(group[-1][0], max(value for _, value in group)) for group in reversed(found)]


def _slopes(points: Sequence[Point]) -> list[float]:
    return [
        (value - earlier) / (step - before)
        for index, (step, value) in enumerate(points)
        for before, earlier in points[:index]
    ]
