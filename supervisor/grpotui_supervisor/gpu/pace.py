"""How often to look at the GPUs: as asked, at 4 Hz in a hurry, less often where looking is dear."""

from __future__ import annotations

import time

HURRIED_S = 0.25
_LONGEST_S = 30.0
_SHARE = 0.05
"""Looking may take so much of the time: the driver's lock is held meanwhile, and the job's own calls wait."""
_CHEAP = _SHARE / 4
"""At half the interval the share would still be half of what it may be."""


class Pace:
    """The interval, judged by the last two looks: lists are read in every second one, and one alone may be unlucky."""

    def __init__(self, interval_s: float) -> None:
        self._calm_s = interval_s
        self._hurry_until = 0.0
        self._stretch = 1
        self._began = -_LONGEST_S
        self._before: float | None = None
        self._last_interval_s = interval_s

    @property
    def hurried(self) -> bool:
        """Whether every moment counts."""
        return time.monotonic() < self._hurry_until

    @property
    def interval_s(self) -> float:
        """From the begin of one look to that of the next."""
        calm_s = self._calm_s
        return min((min(HURRIED_S, calm_s) if self.hurried else calm_s) * self._stretch, _LONGEST_S)

    def hurry(self, seconds: float) -> None:
        """From now on, for so long; never shortens a hurry under way. May be called from another thread."""
        self._hurry_until = max(self._hurry_until, time.monotonic() + seconds)

    def left_s(self) -> float:
        """Until the next look is due."""
        return self._began + self.interval_s - time.monotonic()

    def begin(self) -> None:
        """A look begins."""
        self._began = time.monotonic()

    def end(self) -> float | None:
        """The look that began is over; how long it took in seconds, if the interval is another one from now."""
        took, interval_s = time.monotonic() - self._began, self.interval_s
        before, self._before = self._before, took
        if before is None or interval_s != self._last_interval_s:
            self._last_interval_s = interval_s
            return None
        share = (before + took) / (2 * interval_s)
        if share > _SHARE and interval_s < _LONGEST_S:
            self._stretch *= 2
        elif share < _CHEAP and self._stretch > 1:
            self._stretch //= 2
        else:
            return None
        self._before = None
        return took
