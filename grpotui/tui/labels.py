"""Axis labels that fit a given number of cells."""

from __future__ import annotations

from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_SUFFIXES: Final = ((12, "T"), (9, "G"), (6, "M"), (3, "k"))
_TOKENS: Final = ((12, "T"), (9, "B"), (6, "M"), (3, "k"))
_PLAIN: Final = 10_000
_SMALLEST: Final = -300


def exponent(value: float) -> int:
    """That of the leading digit of a positive finite number: 3 for 1000 to 9999."""
    found = floor(log10(value))
    return found + 1 if float(f"1e{found + 1}") <= value else found


def tick_labels(ticks: Sequence[float], step: float, width: int) -> list[str] | None:
    """Labels of multiples of `step`, all in one notation: plain, with k, M, G, T, or with an exponent.

    None where none of them fits.
    """
    top, place = max(map(abs, ticks), default=0.0), _place(step)
    ways = [_plain(ticks, place, width)] if top < _PLAIN and place > -5 else []
    ways += [_scaled(ticks, place, power, sign) for power, sign in _SUFFIXES if top >= 10**power and place >= power - 3]
    ways += [_with_exponent(ticks, place)]
    return next((labels for labels in ways if all(len(label) <= width for label in labels)), None)


def _place(step: float) -> int:
    """That of the last digit of a step such as 1, 2, 2.5, 4 or 5."""
    place = exponent(step)
    return place - 1 if f"{step:.1e}"[2] != "0" else place


def offset_labels(ticks: Sequence[float], step: float, width: int) -> list[str] | None:
    """For a narrow range far from zero: one tick as it is, and the others as what is added to it.

    The one is the lowest that can be written without a loss, else the lowest.
    """
    names = [compact(tick, width) for tick in ticks]
    base = next((at for at, name in enumerate(names) if name and name[0] != "~"), 0)
    added = tick_labels([(at - base) * step for at in range(len(ticks))], step, width - 1)
    if added is None:
        return None
    return [names[at] if at == base else label if at < base else f"+{label}" for at, label in enumerate(added)]


def _plain(ticks: Sequence[float], place: int, width: int) -> list[str]:
    labels = [f"{tick:.{max(0, -place)}f}" if tick else "0" for tick in ticks]
    return labels if max(map(len, labels), default=0) <= width else [_bare(label) for label in labels]


def _bare(label: str) -> str:
    """`.05` for `0.05`."""
    return label.replace("0.", ".", 1) if label.startswith(("0.", "-0.")) else label


def _scaled(ticks: Sequence[float], place: int, power: int, sign: str) -> list[str]:
    return [f"{tick / 10**power:.{max(0, power - place)}f}{sign}" if tick else "0" for tick in ticks]


def _with_exponent(ticks: Sequence[float], place: int) -> list[str]:
    if place < _SMALLEST:
        return [compact(tick, 12) for tick in ticks]
    return [_mantissa(round(tick / float(f"1e{place}")), place) for tick in ticks]


def _mantissa(whole: int, place: int) -> str:
    while whole and whole % 10 == 0:
        whole, place = whole // 10, place + 1
    return f"{whole}e{place}" if whole else "0"


def compact(value: float, width: int) -> str:
    """A number in at most `width` cells; `~` before what is not all of it, empty where even that has no room."""
    for digits in range(12, 0, -1):
        text = _shortest(value, digits)
        exact = float(text) == value
        if len(text) + (not exact) <= width:
            return text if exact else f"~{text}"
    return ""


def rounded(value: float, width: int) -> str:
    """As much of a number as there is room for."""
    return next((text for digits in (3, 2, 1) if len(text := _shortest(value, digits)) <= width), "")


def _shortest(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    head, _, power = text.partition("e")
    return f"{head}e{int(power)}" if power else _bare(text)


def count(value: float) -> str:
    """A step: 0, 250, 1,500, 120k."""
    return f"{value:,.0f}" if abs(value) < 100_000 else _short(value, _SUFFIXES)


def tokens(value: float) -> str:
    """250, 12k, 1.5M, 2B."""
    return _short(value, _TOKENS)


def _short(value: float, suffixes: tuple[tuple[int, str], ...]) -> str:
    for power, sign in suffixes:
        if abs(value) >= 10**power:
            return f"{value / 10**power:.4g}{sign}"
    return f"{value:.4g}"


def span(value: float) -> str:
    """A time since the start in the units that it is round in: 0, 30s, 5m, 1h30, 2d, 2d06h."""
    if not isfinite(value) or value == 0:
        return "0"
    sign, value = ("-", -value) if value < 0 else ("", value)
    if value < 60:
        return f"{sign}{value:.3g}s"
    minutes, seconds = divmod(round(value), 60)
    if minutes < 60:
        return f"{sign}{minutes}m{seconds:02d}" if seconds else f"{sign}{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{sign}{hours}h{minutes:02d}" if minutes else f"{sign}{hours}h"
    days, hours = divmod(hours, 24)
    return f"{sign}{days}d{hours:02d}h" if hours else f"{sign}{days}d"


def exact(value: float) -> str:
    """A value as it was printed: in as few digits as make it again, nine at most."""
    return next((text for digits in (4, 6, 9) if float(text := f"{value:.{digits}g}") == value), f"{value:.9g}")
