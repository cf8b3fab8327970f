"""The part of an axis that is shown: nearer, farther, along."""

from __future__ import annotations

Window = tuple[float, float]
STEP = 1.5
"""How much nearer one turn of the wheel or one key goes."""
_LEAST_POINTS = 6
"""A window as narrow as this many points are apart on the whole is not made narrower."""


def zoomed(window: Window | None, whole: Window, points: int, at: float, factor: float) -> Window | None:
    """The window `factor` times as wide around the place `at`, which stays where it is; None for all there is."""
    low, high = window or whole
    reach, all_of_it = high - low, whole[1] - whole[0]
    least = min(reach, all_of_it * _LEAST_POINTS / max(1, points - 1))
    wide = max(reach * factor, least)
    if not 0 < wide < all_of_it:
        return None
    share = min(1.0, max(0.0, (at - low) / reach)) if reach > 0 else 0.5
    return _within(at - share * wide if low <= at <= high else low, wide, whole)


def panned(window: Window | None, whole: Window, share: float) -> Window | None:
    """The window moved by a share of itself, and not beyond what there is."""
    if window is None:
        return None
    wide = window[1] - window[0]
    return _within(window[0] + share * wide, wide, whole)


def followed(window: Window | None, before: Window | None, whole: Window) -> Window | None:
    """A window that reached the end of what there was reaches the new one."""
    if window is None or before is None or window[1] < before[1] or whole[1] <= before[1]:
        return window
    wide = window[1] - window[0]
    return _within(whole[1] - wide, wide, whole)


def _within(low: float, wide: float, whole: Window) -> Window:
    low = max(whole[0], min(low, whole[1] - wide))
    return low, low + wide
