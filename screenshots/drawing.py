"""A screen of cells as a PNG, the way a terminal draws it: braille as dots, blocks and frames filling their cells.

Not Textual's SVG: that asks for a font from elsewhere, which pages with README files do not load, and spaces braille by
whatever font the reader has.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Final

from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    import pyte

_FONTS: Final = os.environ.get("GRPOTUI_SCREENSHOT_FONTS", "/usr/share/fonts/truetype/dejavu")
"""The folder of DejaVu Sans Mono (Debian: fonts-dejavu-core)."""
_WIDE, _HIGH, _SIZE, _SCALE = 8, 17, 13, 2
_DOTS: Final = ((0, 0, 1), (0, 1, 2), (0, 2, 4), (1, 0, 8), (1, 1, 16), (1, 2, 32), (0, 3, 64), (1, 3, 128))
_LINES: Final = {
    "─": "lr", "│": "ud", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu",
    "├": "udr", "┤": "udl", "┬": "lrd", "┴": "lru", "┼": "lrud", "╴": "l", "╶": "r", "┃": "ud", "━": "lr",
}  # fmt: skip
_HEAVY: Final = "┃━"
_QUADRANTS: Final = {"▖": 4, "▗": 8, "▘": 1, "▙": 13, "▚": 9, "▛": 7, "▜": 11, "▝": 2, "▞": 6, "▟": 14}
"""Bits: upper left, upper right, lower left, lower right."""
_EDGES: Final = (0.2, 0.4, 0.6, 0.8)
_SHADES: Final = {"░": 0.25, "▒": 0.5, "▓": 0.75}
_GROUNDS: Final = {True: ("#121212", "#e4e4e4"), False: ("#ffffff", "#1b1f24")}
_NAMED: Final = {
    "black": "#000000", "red": "#cd3131", "green": "#0dbc79", "brown": "#e5e510", "blue": "#2472c8",
    "magenta": "#bc3fbc", "cyan": "#11a8cd", "white": "#e5e5e5",
}  # fmt: skip

Box = tuple[float, float, float, float]


class Canvas:
    """Cells of a picture, at twice its size."""

    def __init__(self, columns: int, rows: int, *, dark: bool) -> None:
        self.ground, self.ink = _GROUNDS[dark]
        self.wide, self.high = _WIDE * _SCALE, _HIGH * _SCALE
        self.image = Image.new("RGB", (columns * self.wide, rows * self.high), self.ground)
        self._draw = ImageDraw.Draw(self.image)
        self._pairs: Counter[tuple[str, str]] = Counter()
        names = ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")
        self._fonts = [ImageFont.truetype(os.path.join(_FONTS, name), _SIZE * _SCALE) for name in names]

    def put(self, column: int, row: int, cell: pyte.screens.Char) -> None:
        """One cell."""
        ink, ground = _colour(cell.fg, self.ink), _colour(cell.bg, self.ground)
        if cell.reverse:
            ink, ground = ground, ink
        x, y = column * self.wide, row * self.high
        span = self.wide * (2 if cell.data and _is_wide(cell.data) else 1)
        self._draw.rectangle((x, y, x + span - 1, y + self.high - 1), fill=ground)
        self._pairs[ink, ground] += 1
        if not cell.data.strip():
            return
        if not self._shape(cell.data[0], x, y, ink, ground):
            self._draw.text((x, y + _SCALE), cell.data, font=self._fonts[cell.bold], fill=ink)

    def _shape(self, character: str, x: int, y: int, ink: str, ground: str) -> bool:
        code = ord(character)
        if 0x2800 < code <= 0x28FF:
            self._braille(code, x, y, ink)
        elif character in _LINES:
            self._line(character, x, y, ink)
        elif character in _SHADES:
            part = _SHADES[character]
            self._draw.rectangle((x, y, x + self.wide - 1, y + self.high - 1), fill=_mixed(ink, ground, part))
        elif 0x2580 <= code <= 0x259F:
            for box in _boxes(character):
                self._fill(box, x, y, ink)
        else:
            return False
        return True

    def _braille(self, code: int, x: int, y: int, ink: str) -> None:
        radius = self.wide * 0.16
        for across, down, bit in _DOTS:
            if (code - 0x2800) & bit:
                cx, cy = x + self.wide * (0.25 + 0.5 * across), y + self.high * (0.125 + 0.25 * down)
                self._draw.ellipse((cx - radius, cy - radius, cx + radius, cy + radius), fill=ink)

    def _line(self, character: str, x: int, y: int, ink: str) -> None:
        thick = _SCALE * (2 if character in _HEAVY else 1)
        left, top = x + (self.wide - thick) // 2, y + (self.high - thick) // 2
        right, bottom = left + thick - 1, top + thick - 1
        ends = {
            "l": (x, top, right, bottom),
            "r": (left, top, x + self.wide - 1, bottom),
            "u": (left, y, right, bottom),
            "d": (left, top, right, y + self.high - 1),
        }
        for side in _LINES[character]:
            self._draw.rectangle(ends[side], fill=ink)

    def _fill(self, box: Box, x: int, y: int, ink: str) -> None:
        left, top, right, bottom = box
        self._draw.rectangle(
            (x + left * self.wide, y + top * self.high, x + right * self.wide - 1, y + bottom * self.high - 1), fill=ink
        )

    def save(self, path: str) -> None:
        """Half as large, in the colours that were drawn with and what lies between them at the edges of letters."""
        size = (self.image.width // _SCALE, self.image.height // _SCALE)
        palette = Image.new("P", (1, 1))
        palette.putpalette([value for colour in self._colours() for value in bytes.fromhex(colour[1:])])
        small = self.image.resize(size, Image.Resampling.BOX)
        small.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)

    def _colours(self) -> list[str]:
        """At most 256: the plain ones, then the edges of the most frequent letters."""
        plain = dict.fromkeys(colour for pair, _ in self._pairs.most_common() for colour in pair)
        between = [_mixed(*pair, part) for pair, _ in self._pairs.most_common() for part in _EDGES]
        return [*dict.fromkeys([*plain, *between])][:256]


def draw(screen: pyte.Screen, path: str, *, dark: bool) -> None:
    """Writes a screen into a PNG file."""
    canvas = Canvas(screen.columns, screen.lines, dark=dark)
    for row in range(screen.lines):
        for column in range(screen.columns):
            canvas.put(column, row, screen.buffer[row][column])
    canvas.save(path)


def _boxes(character: str) -> list[Box]:
    """The parts of a cell that a block fills."""
    code = ord(character)
    if character in _QUADRANTS:
        places = ((0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5))
        return [(a, b, a + 0.5, b + 0.5) for bit, (a, b) in enumerate(places) if _QUADRANTS[character] >> bit & 1]
    if character in "▀▐▔▕":
        return [{"▀": (0, 0, 1, 0.5), "▐": (0.5, 0, 1, 1), "▔": (0, 0, 1, 0.125), "▕": (0.875, 0, 1, 1)}[character]]
    if code <= 0x2588:
        return [(0, 1 - (code - 0x2580) / 8, 1, 1)]
    return [(0, 0, (0x2590 - code) / 8, 1)]


def _is_wide(text: str) -> bool:
    import unicodedata  # noqa: PLC0415

    return unicodedata.east_asian_width(text[0]) in "WF"


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return _NAMED.get(name, f"#{name}" if len(name) == 6 else default)


def _mixed(ink: str, ground: str, part: float) -> str:
    pairs = ((int(ink[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * part + b * (1 - part)):02x}" for a, b in pairs)
