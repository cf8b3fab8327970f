"""A grid of cells with dots in it, and what is written where no dot is."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from grpotui.tui import cells
from grpotui.tui.palette import LINES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.glyphs import Glyphs

BLANK: Run = (" ", "blank")
Dots = tuple[list[int], list[int]]
"""Envelope and trace of one line, by dot column."""
_REMEMBERED = 4000
_FREE: Final = frozenset(("blank", "band"))


class Painter:
    """Dots to cells; a cell column whose dots were seen before costs a look-up."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], tuple[Run, ...]] = {}
        self._key: object = None

    def paint(self, glyphs: Glyphs, rows: int, layers: Sequence[Dots]) -> Canvas:
        """The first layer lies on top."""
        key = (glyphs.name, rows, len(layers))
        if key != self._key or len(self._seen) > _REMEMBERED:
            self._key, self._seen = key, {}
        flat = [dots for layer in layers for dots in layer]
        together = [same for dots in flat for same in [iter(dots)] * glyphs.across]  # one iterator: next to each other
        columns = [self._column(glyphs, rows, bits) for bits in zip(*together, strict=True)]
        return Canvas([list(row) for row in zip(*columns, strict=True)])

    def _column(self, glyphs: Glyphs, rows: int, bits: tuple[int, ...]) -> tuple[Run, ...]:
        found = self._seen.get(bits)
        if found is None:
            found = self._seen[bits] = tuple(_cell(glyphs, bits, row * glyphs.up) for row in range(rows - 1, -1, -1))
        return found


def _cell(glyphs: Glyphs, bits: tuple[int, ...], shift: int) -> Run:
    """One cell: a line hides the envelopes, and what is on top gives the colour."""
    mask, across = (1 << glyphs.up) - 1, glyphs.across
    codes = [
        sum((bits[at + n] >> shift & mask) << n * glyphs.up for n in range(across))
        for at in range(0, len(bits), across)
    ]
    for kind, codes_of, table in (("line", codes[1::2], glyphs.line), ("fill", codes[::2], glyphs.fill)):
        top = next((number for number, code in enumerate(codes_of) if code), None)
        if top is not None:
            union = 0
            for code in codes_of:
                union |= code
            full = kind == "line" and codes[2 * top].bit_count() >= glyphs.up * across - 1
            return table[union], f"{'over' if full else _fill(glyphs, codes) if kind == 'fill' else kind}{top % LINES}"
    return BLANK


def _fill(glyphs: Glyphs, codes: Sequence[int]) -> str:
    """The envelopes of several lines are fainter: the lines must be seen through them."""
    if len(codes) > 2:
        return "faint"
    return "fill" if glyphs.fill is glyphs.line else "shade"


@lru_cache(_REMEMBERED)
def _within(dots: tuple[int, ...], rows: int, up: int) -> tuple[int, ...]:
    """The rows of one cell column that half of their dots are set in, one at least; 0 the uppermost."""
    mask = (1 << up) - 1
    shares = [sum((bits >> (rows - 1 - row) * up & mask).bit_count() for bits in dots) for row in range(rows)]
    least = max(1, min(max(shares), len(dots) * up // 2))
    return tuple(row for row, share in enumerate(shares) if share >= least)


class Canvas:
    """Rows of cells, the uppermost first."""

    def __init__(self, rows: list[list[Run]]) -> None:
        self.rows = rows
        self.wide = len(rows[0]) if rows else 0

    def shade(self, glyphs: Glyphs, dots: list[int]) -> None:
        """A band behind what is drawn: every cell that half of its dots are in, and one a column at least."""
        across, rows = glyphs.across, self.rows
        for column in range(self.wide):
            here = tuple(dots[column * across : (column + 1) * across])
            for row in _within(here, len(rows), glyphs.up) if any(here) else ():
                text, role = rows[row][column]
                rows[row][column] = (glyphs.band, "band") if role == "blank" else (text, f"{role}~")

    def put(self, row: int, column: int, text: str, role: str) -> None:
        """One cell, over what is there."""
        if 0 <= row < len(self.rows) and 0 <= column < self.wide:
            self.rows[row][column] = (text, self._on(row, column, role))

    def _on(self, row: int, column: int, role: str) -> str:
        """The role on the ground that is there."""
        under = self.rows[row][column][1]
        return f"{role}~" if under == "band" or under.endswith("~") else role

    def upright(self, column: int, glyph: str, role: str, *, lit: bool) -> None:
        """A line from top to bottom behind the dots, which get a lit background instead where it points at them."""
        for at, row in enumerate(self.rows):
            text, kind = row[column]
            if kind in _FREE or kind.startswith("threshold"):
                row[column] = (glyph, self._on(at, column, role))
            elif lit:
                row[column] = (text, f"{kind.rstrip('+')}+")

    def level(self, row: int, glyph: str, role: str) -> None:
        """A line from left to right behind the dots."""
        self.rows[row] = [
            (glyph, self._on(row, column, role)) if cell[1] in _FREE else cell
            for column, cell in enumerate(self.rows[row])
        ]

    def write(self, row: int, text: str, role: str, over: str = "blank") -> bool:
        """A text as far right as there are cells with nothing, or only `over`, for it and one on either side."""
        need, free = cells.width(text) + 2, 0
        for column in range(self.wide - 1, -1, -1):
            kind = self.rows[row][column][1]
            free = free + 1 if kind in _FREE or kind.rstrip("~") == over else 0
            if free == need:
                self._replace(row, column, text, role)
                return True
        return False

    def say(self, text: str, role: str) -> None:
        """A text in the middle of what is empty."""
        row = (len(self.rows) - 1) // 2
        before = (self.wide - cells.width(text)) // 2
        self.rows[row] = cells.padded([(" " * max(0, before), "blank"), (text, role)], self.wide)

    def _replace(self, row: int, column: int, text: str, role: str) -> None:
        end = column + cells.width(text) + 2
        self.rows[row][column:end] = [BLANK, (text, role), *[("", role)] * (cells.width(text) - 1), BLANK]
