"""From values to dots and back, and the round numbers at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final

from grpotui.tui import labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_HUGE: Final = 1e300
_LEAST: Final = 5e-324
_LARGEST: Final = 308
"""10^308 times 2 is no float any more."""
_ROUNDING: Final = 1e-9
"""So that a constant stays on one level where an average of it is off by a last bit."""
_ROUND: Final = ((1, 2, 5), (2.5, 4))
"""Leading numbers of a step; the second row only where the first gives less than two ticks."""


@dataclass(frozen=True, slots=True)
class Scale:
    """`dots` levels from `low` to `high`; on a logarithmic one both are above zero."""

    low: float
    high: float
    dots: int
    log: bool = False

    @classmethod
    def around(cls, low: float, high: float, dots: int, *, log: bool = False) -> Scale:
        """A scale that shows [low, high]; a constant gets room around it. Linear where nothing is above zero."""
        low, high = (min(max(end, -_HUGE), _HUGE) for end in (low, high))
        log = log and high > 0
        low = min(low, high)
        if log and low <= 0:
            low = max(high / 10, _LEAST)
        if high - low > abs(high) * 1e-12 and high > low * (1 + 1e-12 if low > 0 else 1):
            return cls(low, high, dots, log)
        if log:
            return cls(max(low / 2, _LEAST), min(high * 2, _HUGE), dots, log=True)
        room = abs(low) * 0.1 or 1.0
        return cls(low - room, high + room, dots)

    def level(self, value: float) -> int:
        """The dot of a finite value, 0 the lowest; what is outside is at the edge."""
        if value <= self.low:
            return 0
        if value >= self.high:
            return self.dots - 1
        low, high = self.low, self.high
        if self.log:
            value, low, high = log10(value), log10(low), log10(high)
        part = (value - low) / (high - low)
        return int(part * (self.dots - 1) + 0.5 + _ROUNDING)

    def holds(self, value: float) -> bool:
        """Whether a value is within the range, up to rounding."""
        return self.low <= value <= self.high


def ticks(scale: Scale, rows: int, width: int) -> dict[int, str]:
    """Labels of round numbers by row, 0 the uppermost; none wider than `width`.

    Where nothing round is in the range, its ends are named.
    """
    most = 4 if rows < 9 else rows // 3 + 2
    chosen = _decades(scale, rows, width, most) if scale.log else {}
    return chosen or _round_ticks(scale, rows, width, most) or _ends(scale, rows, width)


def row_of(scale: Scale, value: float, rows: int) -> int:
    """The row, 0 the uppermost, that a value is drawn in."""
    return rows - 1 - scale.level(value) * rows // scale.dots


def _round_ticks(scale: Scale, rows: int, width: int, most: int) -> dict[int, str]:
    fallback: dict[int, str] = {}
    for leading in _ROUND:
        for step, values in _multiples(scale.low, scale.high, leading, most):
            found = _rows(scale, rows, values, labels.tick_labels(values, step, width))
            if len(found) > 1:
                return found
            fallback = fallback or _rows(scale, rows, values, labels.offset_labels(values, step, width))
            if len(fallback) < 2:
                fallback = {}
    return fallback


def _rows(scale: Scale, rows: int, values: Sequence[float], names: list[str] | None) -> dict[int, str]:
    """Nothing where two ticks would share a row, or crowd where there is room."""
    at = [row_of(scale, value, rows) for value in values]
    apart = min((a - b for a, b in pairwise(at)), default=rows)
    if names is None or apart < (2 if rows > 4 else 1):
        return {}
    return dict(zip(at, names, strict=True))


def _multiples(
    low: float, high: float, leading: Iterable[float], most: int, least: int = 2
) -> Iterator[tuple[float, list[float]]]:
    """(step, its multiples in [low, high]) with `least` to `most` of them, from the finest step on."""
    reach = high / 2 - low / 2
    first = floor(log10(reach)) - 1 if reach > 0 else 0
    for power in range(max(first, -300), min(first + 4, _LARGEST)):
        for number in sorted(leading):
            step = _times(number, power)
            begin, end = ceil(low / step - 1e-9), floor(high / step + 1e-9)
            if least <= end - begin + 1 <= most:
                yield step, [_times(k * number, power) for k in range(begin, end + 1)]


def _times(number: float, power: int) -> float:
    """A product with 10^power, to the last bit what the decimal would be read as."""
    if power < -_LARGEST:
        return float(f"{number}e{power}")
    return number * 10.0**power if power >= 0 else number / 10.0**-power


def _decades(scale: Scale, rows: int, width: int, most: int) -> dict[int, str]:
    """Powers of ten, every second or third of them where they are many; with 2 and 5 between where they are few."""
    low, high = floor(log10(scale.low)), ceil(log10(scale.high))
    powers = [p for p in range(low, high + 1) if scale.holds(float(f"1e{p}"))]
    if len(powers) < 2:
        between = [_times(n, p) for p in range(low, high + 1) for n in (1, 2, 5)]
        inside = [value for value in between if scale.holds(value)]
        return _rows(scale, rows, inside, _fitting(inside, width)) if 1 < len(inside) <= most else {}
    for every in range(1, len(powers)):
        values = [float(f"1e{p}") for p in powers if p % every == 0]
        found = _rows(scale, rows, values, _fitting(values, width)) if len(values) <= most else {}
        if len(found) > 1:
            return found
    return {}


def _fitting(values: Iterable[float], width: int) -> list[str] | None:
    """Each in its own shortest notation: 1e-5, .001, 0.1, 1, 100, 10k."""
    found = [_short(value, width) for value in values]
    return found if all(found) else None


def _short(value: float, width: int) -> str:
    single = labels.tick_labels([value], value, width)
    return single[0] if single else ""


def _ends(scale: Scale, rows: int, width: int) -> dict[int, str]:
    """Lowest and highest as far as they fit."""
    high, low = labels.compact(scale.high, width), labels.compact(scale.low, width)
    if high == low:
        high = f"+{labels.rounded(scale.high - scale.low, width - 1)}"
    return {0: high, rows - 1: low}


def x_ticks(low: float, high: float, axis: str, most: int) -> list[tuple[float, str]]:
    """Round places on an axis of steps, tokens or time: two to `most`, the finest such, else one; maybe none."""
    name = _NAMES.get(axis, labels.count)
    if low == high:
        return [(low, name(low))]
    for least in (2, 1):
        choices = _spans if axis == "time" else _numbers
        for step, values in choices(low, high, least, most):
            if axis == "time" or step >= 1:
                return [(value, name(value)) for value in values]
    return []


_NAMES: Final = {"time": labels.span, "tokens": labels.tokens}
_TIMES: Final = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200),
    *(86400, 172800, 432000, 864000),
)


def _numbers(low: float, high: float, least: int, most: int) -> Iterator[tuple[float, list[float]]]:
    return _multiples(low, high, (1, 2, 5), most, least)


def _spans(low: float, high: float, least: int, most: int) -> Iterator[tuple[float, list[float]]]:
    if high - low < 2:
        yield from _numbers(low, high, least, most)
        return
    for step in _TIMES:
        begin, end = ceil(low / step), floor(high / step)
        if least <= end - begin + 1 <= most:
            yield step, [float(k * step) for k in range(begin, end + 1)]
