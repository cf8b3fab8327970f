"""Characters that a terminal cannot show, as ones that it can and that look like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size

from grpotui.tui.glyphs import ASCII, CONSOLE

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONSOLE: Final = str.maketrans(
    {
        **dict(zip("╭╮╯╰┏┓┛┗━┃", "┌┐┘└┌┐┘└─│", strict=True)),
        **dict.fromkeys("╌┄┈╴╶⎯", "-"),
        **dict.fromkeys("╎┆┊▏▕▎▍", "│"),
        **dict.fromkeys("●◉∙", "•"),
        **dict.fromkeys("✖✗✘╳×", "x"),
        **dict.fromkeys("▶▸", "►"),
        **dict.fromkeys("◀◂", "◄"),
        **dict.fromkeys("▾▿⏷", "▼"),
        **dict.fromkeys("▴⏶△", "▲"),
        **dict.fromkeys("◌◇□◯", "○"),
        **dict.fromkeys("▪▉▊▋", "■"),
        **dict(zip("◆✔✓…‖†↺▚", "♦√√~║X«▌", strict=True)),
        **dict(zip("▁▂▃▅▆▇—–", "__▄▄██--", strict=True)),
    }
)
"""What Linux's text console has no glyph for."""

_ASCII: Final = str.maketrans(
    {
        **dict.fromkeys("─━═╌┄┈╴╶▔▁⎯—–", "-"),
        **dict.fromkeys("│┃║╎┆┊▏▎▍▕▌▐‖", "|"),
        **dict.fromkeys("╭╮╯╰┌┐└┘├┤┬┴┼┏┓┗┛╔╗╚╝", "+"),
        **dict.fromkeys("●◉•∙■▪◆♦✔✓√", "*"),
        **dict.fromkeys("○◌◇□◯", "o"),
        **dict.fromkeys("✖✗✘×╳†‡", "x"),
        **dict.fromkeys("▲△▴↑▀", "^"),
        **dict.fromkeys("▼▽▾↓▄", "v"),
        **dict.fromkeys("▶►▸→›»", ">"),
        **dict.fromkeys("◀◄◂←‹«↺", "<"),
        **dict.fromkeys("█▓▇▆▅▉▊▋", "#"),
        **dict.fromkeys("▒▚", "%"),
        **dict.fromkeys("░▂▃", ":"),
        **dict.fromkeys("·⋅", "."),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("‘’", "'"),
        **dict(zip("…≡≤≥≈±−", "~=<>~~-", strict=True)),
    }
)

TABLES: Final[Mapping[str, dict[int, str]]] = {CONSOLE.name: _CONSOLE, ASCII.name: _ASCII}
"""By the name of their set. Each keeps the width of what it replaces."""


def shown(text: str, name: str) -> str:
    """A text with what the set of characters `name` can show, in as many cells; in ASCII the rest is `?`."""
    if text.isascii():
        return text
    found = text.translate(TABLES.get(name, {}))
    if name != ASCII.name or found.isascii():
        return found
    found = "".join(c if c.isascii() else "?" * cell_len(c) for c in found)
    return set_cell_size(found, cell_len(text))  # characters that are drawn as one
