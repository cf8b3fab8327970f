"""Sets of characters that pictures are made of: braille, blocks, those of a text console, and plain ASCII."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_BRAILLE_LEFT: Final = (0x40, 0x04, 0x02, 0x01)
_BRAILLE_RIGHT: Final = (0x80, 0x20, 0x10, 0x08)
_QUADRANTS: Final = " ▖▘▌▗▄▚▙▝▞▀▛▐▟▜█"
_ASCII_LINE: Final = " _-|'|||"


def _braille(code: int) -> str:
    bits = sum(bit for place, bit in enumerate(_BRAILLE_LEFT + _BRAILLE_RIGHT) if code >> place & 1)
    return chr(0x2800 + bits) if bits else " "


@dataclass(frozen=True, slots=True, repr=False)
class Glyphs:
    """One set of characters.

    A cell is `across` × `up` dots. `line` and `fill` are looked up with the dots of a cell as bits: column by column
    from the left, each from its lowest dot on.
    """

    name: str
    across: int
    up: int
    line: tuple[str, ...]
    fill: tuple[str, ...]
    frame: tuple[str, ...]
    """Corners from the upper left one clockwise, then horizontal and vertical."""
    validation: str
    checkpoint: str
    finding: str
    death: str
    restart: str
    lost: str
    below: str
    cursor: str
    threshold: str
    trends: str
    """Falling, level, rising."""
    beyond: str
    """A limit above, and below, what is drawn."""
    cut: str
    names: str
    """One for each line of an overlay."""
    band: str
    """Between the low and the high end of a band, where there is no colour to shade it with."""
    bars: str
    """Parts of a step in the order of `PARTS`, then those that are none of them."""
    eighths: str
    """Lower eighths of a cell, where colours tell the parts of a bar apart; empty where only glyphs do."""
    unsplit: str
    """Of a step, time that no part of it is known to have taken."""
    memory: str
    """Baseline, torch allocated, torch reserved, driver side, free, more in torch than the driver counts."""
    edges: tuple[str, str]
    """Left and right end of a meter."""
    history: str
    """Low to high in one row."""

    def __repr__(self) -> str:
        return f"Glyphs({self.name})"


PARTS: Final = ("generate", "logprob", "reward", "update", "sync", "other")

_DOTS: Final = tuple(_braille(code) for code in range(256))

BRAILLE: Final = Glyphs(
    name="braille",
    across=2,
    up=4,
    line=_DOTS,
    fill=_DOTS,
    frame=tuple("╭╮╯╰─│"),
    validation="○",
    checkpoint="◆",
    finding="▲",
    death="†",
    restart="↺",
    lost="✖",
    below="▾",
    cursor="│",
    threshold="╌",
    trends="↓→↑",
    beyond="↑↓",
    cut="…",
    names="●■◆▶▼◀",
    band="·",
    bars="█" * 9,
    eighths="▁▂▃▄▅▆▇",
    unsplit="▒",
    memory="┃█▓▒·╳",
    edges=("│", "│"),
    history="▁▂▃▄▅▆▇█",
)
"""2 × 4 dots a cell."""


def _like(base: Glyphs, **other: object) -> Glyphs:
    return Glyphs(**{name: getattr(base, name) for name in Glyphs.__slots__} | other)


BLOCK: Final = _like(BRAILLE, name="block", up=2, line=tuple(_QUADRANTS), fill=(" ", *"░" * 15))
"""2 × 2 dots a cell, for fonts without U+2800."""

CONSOLE: Final = _like(
    BLOCK,
    name="console",
    across=1,
    line=tuple(" ▄▀█"),
    fill=(" ", *"░" * 3),
    frame=tuple("┌┐┘└─│"),
    validation="○",
    checkpoint="♦",
    restart="«",
    death="X",
    lost="x",
    below="▼",
    threshold="-",
    cut="~",
    names="•■♦►▼◄",
    bars="█▓▌▒░·+♦○",
    eighths="",
    unsplit="≡",
    memory="│█▓▒·+",
    history="_▄█",
)
"""1 × 2 dots a cell, of what is in the fonts of Linux's text console."""

ASCII: Final = Glyphs(
    name="ascii",
    across=1,
    up=3,
    line=tuple(_ASCII_LINE),
    fill=(" ", *":" * 7),
    frame=tuple("++++-|"),
    validation="o",
    checkpoint="#",
    finding="!",
    death="X",
    restart="<",
    lost="x",
    below="v",
    cursor="|",
    threshold="-",
    trends="v=^",
    beyond="^v",
    cut="~",
    names="*+o%@&",
    band=".",
    bars="#=%+-.?*o",
    eighths="",
    unsplit=":",
    memory="B#=+.!",
    edges=("[", "]"),
    history="_.,-~=+*",
)
"""1 × 3 dots a cell, for anything else."""

SETS: Final = {glyphs.name: glyphs for glyphs in (BRAILLE, BLOCK, CONSOLE, ASCII)}


@cache
def uncoloured(glyphs: Glyphs) -> Glyphs:
    """The set where there are no colours: the parts of a bar are told apart by their glyphs alone."""
    return _like(glyphs, bars="█▓▚▒░·╳◆○", eighths="", unsplit="≡") if glyphs.eighths else glyphs


def chosen(environ: Mapping[str, str]) -> str:
    """The name of the set that `GRPOTUI_GLYPHS` names, else that of what the terminal and the locale can show.

    A locale that is not set says nothing: containers have none, on terminals that know every character.
    """
    asked = environ.get("GRPOTUI_GLYPHS", "").strip().lower()
    if asked in SETS:
        return asked
    locale = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), None)
    if locale is not None and "utf8" not in locale.lower().replace("-", ""):
        return ASCII.name
    return CONSOLE.name if environ.get("TERM") == "linux" else BRAILLE.name
