"""Text in terminal cells: a wide character takes two, and nothing in a text is obeyed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from grpotui.text import inert

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grpotui.tui.glyphs import Glyphs

Run = tuple[str, str]
"""Text and the role that it has in the picture, which a palette gives a style."""


class Sheet(NamedTuple):
    """What a picture is drawn with, and how many cells it has."""

    glyphs: Glyphs
    wide: int
    high: int

    def rest(self, rows: list[list[Run]]) -> list[list[Run]]:
        """The rows, and blank ones below them."""
        return [*rows, *([(" " * self.wide, "blank")] for _ in range(self.high - len(rows)))][: self.high]


def width(text: str) -> int:
    """The cells that a text takes."""
    return cell_len(text)


def cut(text: str, most: int, end: str = "…") -> str:
    """The text made inert, and shortened to at most `most` cells."""
    text = inert(text)
    if cell_len(text) <= most:
        return text
    if most < 1:
        return ""
    return (chop_cells(text, most - 1)[0] if most > 1 else "") + end


def chopped(text: str, wide: int) -> list[str]:
    """The text in pieces of at most so many cells; one piece of a text that is empty."""
    return chop_cells(text, max(2, wide)) or [""]


def merged(cells: Iterable[Run]) -> list[Run]:
    """Neighbours of one role as one run."""
    runs: list[Run] = []
    texts: list[str] = []
    role = None
    for text, kind in cells:
        if kind != role:
            if texts and role is not None:
                runs.append(("".join(texts), role))
            texts, role = [], kind
        texts.append(text)
    if texts and role is not None:
        runs.append(("".join(texts), role))
    return runs


def plain(row: Iterable[Run]) -> str:
    """A row without its roles."""
    return "".join(text for text, _ in row)


def length(runs: Iterable[Run]) -> int:
    """The cells that they take."""
    return sum(cell_len(text) for text, _ in runs)


def spaced(groups: Iterable[list[Run]]) -> list[Run]:
    """Groups of runs, two cells apart."""
    return [run for at, group in enumerate(groups) for run in ([("  ", "blank")] if at else []) + group]


def padded(runs: Iterable[Run], wide: int) -> list[Run]:
    """A row of exactly `wide` cells: filled up, or cut off at the right."""
    out: list[Run] = []
    left = wide
    for text, role in runs:
        used = cell_len(text)
        if used >= left:
            return [*out, (set_cell_size(text, left), role)]
        out.append((text, role))
        left -= used
    return [*out, (" " * left, "blank")]
