"""The frame of a chart: title and last value above, the axis with its marks below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui.tui import cells, labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.glyphs import Glyphs


_LEGEND_FROM = 7
"""Rows inside the frame from which on there are some for the names of lines."""
_ENTRY = 28
"""Cells of one name with its value."""


def fits(title: str, right: Sequence[Run], wide: int) -> bool:
    """Whether title and value stand beside each other uncut."""
    return cells.width(cells.cut(title, wide)) + cells.length(right) + 6 <= wide


def top(glyphs: Glyphs, title: str, right: Sequence[Run], wide: int) -> list[Run]:
    """`╭ title ────── 0.61 ↑ ╮`: the title is cut before the value is, and the value only where nothing else helps."""
    first, second, *_, line, _side = glyphs.frame
    inner = wide - 2
    used = cells.length(right) + 2 if right else 0
    if used > inner - 1:
        right, used = [], 0
    name = cells.cut(title, inner - used - 2, glyphs.cut) if inner - used > 3 else ""
    left: list[Run] = [(f" {name} ", "title")] if name else []
    rest = inner - used - cells.length(left)
    tail: list[Run] = [(" ", "frame"), *right, (" ", "frame")] if right else []
    return [(first, "frame"), *left, (line * rest, "frame"), *tail, (second, "frame")]


def legend_rows(count: int, wide: int, high: int) -> int:
    """Rows for the names of so many lines in a chart of `wide` × `high` cells inside: a quarter of it at most."""
    if count < 2 or high < _LEGEND_FROM:
        return 0
    return min(-(-count // max(1, wide // _ENTRY)), max(1, high // 4))


def legend(names: Sequence[tuple[str, Run, str]], wide: int, rows: int, cut: str) -> list[list[Run]]:
    """`● run-a 0.61  ■ run-b 0.58`: (name, (glyph, role), value); the names share the room, the values keep theirs.

    Where they have no room, what stands before a `/` in all of them is left out.
    """
    across = -(-len(names) // rows)
    each = wide // across
    if any(cells.width(name) + cells.width(value) + 5 > each for name, _, value in names):
        same = _shared([name for name, _, _ in names])
        names = [(name[same:], glyph, value) for name, glyph, value in names]
    return [
        cells.padded(
            [run for entry in names[at : at + across] for run in cells.padded(_entry(entry, each - 2, cut), each)], wide
        )
        for at in range(0, rows * across, across)
    ]


def _shared(names: Sequence[str]) -> int:
    """The length of what all of them begin with, up to a `/`."""
    head = names[0].rpartition("/")[0]
    while head and not all(name.startswith(f"{head}/") for name in names):
        head = head.rpartition("/")[0]
    return len(head) + 1 if head else 0


def _entry(entry: tuple[str, Run, str], room: int, cut: str) -> list[Run]:
    name, (glyph, role), value = entry
    value = _fitting(value, room - 2, cut)
    most = room - 3 - cells.width(value)
    return [(f"{glyph} ", role), (f"{cells.cut(name, most, cut)} " if most > 0 else "", "label"), (value, "value")]


def _fitting(value: str, room: int, cut: str) -> str:
    """A number with fewer digits, rather than one that is cut in two."""
    if cells.width(value) <= room:
        return value
    try:
        return labels.rounded(float(value), room) or cells.cut(value, room, cut)
    except ValueError:
        return cells.cut(value, room, cut)


class Foot:
    """The lower frame, cell by cell: what is placed first stays."""

    def __init__(self, glyphs: Glyphs, wide: int) -> None:
        *_, right, left, self.line, _side = glyphs.frame
        self._cells: list[Run] = [(self.line, "frame")] * max(0, wide - 2)
        self._taken = [False] * len(self._cells)
        self._ends: tuple[Run, Run] = ((left, "frame"), (right, "frame"))

    def place(self, column: int, text: str, role: str, *, room: int = 0) -> bool:
        """A text whose cells, and `room` on either side, are free; column 0 is the first inside of the frame."""
        wide = cells.width(text)
        if (
            not wide
            or column < 0
            or column + wide > len(self._cells)
            or any(self._taken[max(0, column - room) : column + wide + room])
        ):
            return False
        self._cells[column : column + wide] = [(text, role), *[("", role)] * (wide - 1)]
        self._taken[column : column + wide] = [True] * wide
        return True

    def label(self, column: int, text: str, *, room: int = 0) -> bool:
        """A tick's label around its column, a space on either side, moved inwards at the ends."""
        text = f" {text} "
        begin = min(max(0, column - cells.width(text) // 2), len(self._cells) - cells.width(text))
        return self.place(begin, text, "label", room=room)

    def word(self, text: str) -> bool:
        """A text at the left end, below the labels of the other axis."""
        return self.place(0, f" {text} ", "label")

    def runs(self) -> list[Run]:
        """The whole line."""
        return cells.merged([self._ends[0], *self._cells, self._ends[1]])


def empty(sheet: Sheet, title: str, reason: str, note: str = "") -> list[list[Run]]:
    """A frame with the reason in its middle."""
    glyphs, wide, high = sheet
    side, rows = (glyphs.frame[5], "frame"), high - 2
    text = cells.cut(reason, wide - 4, glyphs.cut)
    before = (wide - 2 - cells.width(text)) // 2
    after = wide - 2 - before - cells.width(text)
    said: list[Run] = [(" " * before, "blank"), (text, "label"), (" " * after, "blank")]
    body = [[side, *(said if row == (rows - 1) // 2 else [(" " * (wide - 2), "blank")]), side] for row in range(rows)]
    right: list[Run] = [(cells.cut(note, wide // 2, glyphs.cut), "label")] if note else []
    return [top(glyphs, title, right, wide), *body, Foot(glyphs, wide).runs()]
