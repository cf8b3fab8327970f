"""Colours of Okabe and Ito (2008), told apart by colour-blind people too; none of them carries a meaning alone.

A picture is text with roles. `styles` gives every role its look: colours on a dark or a light ground, or, without
colour (NO_COLOR), nothing but bold and dim. Text has a contrast of 4.5 at least against every ground of the two themes,
lines one of 3 (WCAG 2.2, 1.4.3 and 1.4.11).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from rich.style import Style

_BAND: Final = 0.2
"""How much of a line's colour the ground of its band has."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours as `#rrggbb`; the first of `series` belongs to a chart alone, the next ones to the runs laid over it."""

    name: str
    ground: str
    text: str
    muted: str
    frame: str
    critical: str
    warning: str
    info: str
    good: str
    series: tuple[str, ...]
    parts: tuple[str, ...]
    """Of a step, in the order of `glyphs.PARTS`, and then of those that are none of them."""
    memory: tuple[str, ...]
    """In the order of `Glyphs.memory`."""
    faint: float = 0.45
    """How much of its colour the envelope of a line has: enough that a spike of one point is seen."""
    mono: bool = False


DARK: Final = Palette(
    name="dark",
    ground="#121212",
    text="#e4e4e4",
    muted="#929ba5",
    frame="#4a5058",
    critical="#ff6f3c",
    warning="#e69f00",
    info="#56b4e9",
    good="#2fbf8f",
    series=("#56b4e9", "#e69f00", "#2fbf8f", "#cc79a7", "#f0e442", "#e8743b"),
    parts=("#56b4e9", "#2fbf8f", "#cc79a7", "#e69f00", "#f0e442", "#929ba5", "#e8743b", "#a9b4c0", "#7f9fbf"),
    memory=("#cc79a7", "#56b4e9", "#4385b0", "#e69f00", "#6b737c", "#ff6f3c"),
)

LIGHT: Final = Palette(
    name="light",
    ground="#e0e0e0",
    text="#1b1f24",
    muted="#4d545d",
    frame="#8b929a",
    critical="#a03000",
    warning="#745000",
    info="#005c90",
    good="#00603f",
    series=("#0068a4", "#8f5600", "#006a4a", "#9c3a72", "#665d00", "#b04600"),
    parts=("#0068a4", "#006a4a", "#9c3a72", "#8f5600", "#665d00", "#4d545d", "#b04600", "#3d444d", "#4d6a88"),
    memory=("#9c3a72", "#00588c", "#4a7fa0", "#8f5600", "#767d86", "#a03000"),
    faint=0.55,
)

LINES: Final = len(DARK.series)
"""Colours of lines; the next one begins again."""

SEVERITIES: Final = {"critical": ("✖", "CRIT"), "warning": ("▲", "WARN"), "info": ("●", "INFO")}
"""Glyph and word of each severity; the colour has its name in the palette."""


@cache
def palette(*, dark: bool, mono: bool = False) -> Palette:
    """The palette for a theme; `mono` where NO_COLOR is set."""
    chosen = DARK if dark else LIGHT
    return chosen if not mono else Palette(**{n: getattr(chosen, n) for n in Palette.__slots__} | {"mono": True})


def severity(name: str) -> tuple[str, str, str]:
    """Glyph, word and role of a severity; what is not known is shown by its own name."""
    glyph, word = SEVERITIES.get(name, ("?", name.upper()))
    return glyph, word, name if name in SEVERITIES else "label"


def mixed(colour: str, ground: str, part: float) -> str:
    """`part` of one colour over another, both `#rrggbb`."""
    pairs = ((int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * part + b * (1 - part)):02x}" for a, b in pairs)


@cache
def styles(chosen: Palette, first: int = 0, ground: str | None = None) -> dict[str, Style]:
    """The style of every role; with `+` behind it, that of a place that is pointed at.

    `first` is the place of a chart's own colour in `series`; `ground` what it lies on, None where that is not known.
    """
    under = Style(color=chosen.text if chosen.mono else None, bgcolor=ground) if ground else Style()
    seen = ground or chosen.ground
    found = _mono() if chosen.mono else _coloured(chosen, first, seen)
    lit = Style(reverse=True) if chosen.mono else Style(bgcolor=mixed(chosen.text, seen, 0.16))
    found = {role: under + style for role, style in found.items()}
    found |= {f"{role}+": style + lit for role, style in found.items()}
    return found | _stacked(found)


def _stacked(found: dict[str, Style]) -> dict[str, Style]:
    """Two parts of a bar in one cell, the lower one in front: `part0/part3`."""
    parts = [role for role in found if role == "unsplit" or (role.startswith("part") and role[4:].isdecimal())]
    return {f"{lower}/{upper}": found[lower] + Style(bgcolor=found[upper].color) for lower in parts for upper in parts}


def _coloured(chosen: Palette, first: int, ground: str) -> dict[str, Style]:
    found = {
        name: Style(color=getattr(chosen, name)) for name in ("muted", "frame", "critical", "warning", "info", "good")
    }
    found |= {
        "blank": Style(),
        "title": Style(color=chosen.text),
        "value": Style(color=chosen.text, bold=True),
        "label": Style(color=chosen.muted),
        "readout": Style(color=chosen.text, bold=True),
        "threshold": Style(color=chosen.critical),
        "limit": Style(color=chosen.critical),
        "cursor": Style(color=chosen.text),
        "crosshair": Style(color=chosen.muted),
        "validation": Style(color=chosen.text, bold=True),
        "checkpoint": Style(color=chosen.good),
        "death": Style(color=chosen.critical, bold=True),
        "restart": Style(color=chosen.warning),
        "unsplit": Style(color=chosen.muted),
        "frame_focus": Style(color=chosen.info),
        "hit": Style(color=ground, bgcolor=chosen.warning),
    }
    for number in range(len(chosen.series)):
        ink = chosen.series[(first + number) % len(chosen.series)]
        found[f"line{number}"] = Style(color=ink)
        found[f"over{number}"] = Style(color=ink, bgcolor=mixed(ink, ground, 0.18))
        found[f"shade{number}"] = Style(color=mixed(ink, ground, 0.8))
        found[f"fill{number}"] = Style(color=mixed(ink, ground, chosen.faint))
        found[f"faint{number}"] = Style(color=mixed(ink, ground, chosen.faint * 0.7))
    found |= {f"part{number}": Style(color=colour) for number, colour in enumerate(chosen.parts)}
    found |= {f"memory{number}": Style(color=colour) for number, colour in enumerate(chosen.memory)}
    return found | _banded(found, mixed(chosen.series[first % len(chosen.series)], ground, _BAND))


def _banded(found: dict[str, Style], tint: str) -> dict[str, Style]:
    """A band is a tinted ground: its own glyph, for those without colour, is not seen on it."""
    inked = {f"{role}~": style + Style(bgcolor=tint) for role, style in found.items()}
    return inked | {"band": Style(color=tint, bgcolor=tint)}


def _mono() -> dict[str, Style]:
    plain, bold, dim = Style(), Style(bold=True), Style(dim=True)
    found = dict.fromkeys(("blank", "title", "info", "good", "cursor", "validation", "checkpoint", "warning"), plain)
    found |= dict.fromkeys(("restart", "unsplit"), plain)
    found["hit"] = Style(reverse=True)
    found |= dict.fromkeys(("value", "readout", "critical", "frame_focus", "death"), bold)
    found |= dict.fromkeys(("label", "muted", "frame", "threshold", "limit", "crosshair", "band"), dim)
    for number in range(len(DARK.series)):
        found |= {f"line{number}": bold, f"over{number}": bold, f"fill{number}": dim, f"shade{number}": dim}
        found[f"faint{number}"] = dim
    found |= {f"part{number}": plain for number in range(len(DARK.parts))}
    found |= {f"memory{number}": plain for number in range(len(DARK.memory))}
    return found | {f"{role}~": style for role, style in found.items() if role != "band"}
