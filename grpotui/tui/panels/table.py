"""Rows in columns: as many columns as there is room for, one row chosen, and only what is seen is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.message import Message

from grpotui.text import inert
from grpotui.tui import cells
from grpotui.tui.cells import Run
from grpotui.tui.glyphs import Glyphs
from grpotui.tui.panels.framed import LEAST_FRAMED, Framed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual import events

    from grpotui.tui.cells import Sheet

Cell = Run | list[Run] | Callable[[Glyphs, int], list[Run]]
"""Text with its role, several of them, or what draws itself into so many cells."""

GAP: Final = 2
_WHEEL: Final = 3
_LONG: Final = 2000
"""Characters of a cell that are looked at: what is longer is cut off in any case."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column; it is as wide as the widest cell that was seen in it, between `least` and `most`."""

    name: str
    dispensable: int = 0
    """The highest go first where there is too little room; 0 stays."""
    least: int = 1
    most: int = 40
    right: bool = False
    grows: bool = False
    """It takes the room that the others leave."""


class Table(Framed):
    """A table with a chosen row; `fill` says what is in it, and `cells` is asked for the rows that are seen only."""

    DEFAULT_CSS = "Table { width: 1fr; height: 1fr; }"

    class Chosen(Message):
        """Another row is chosen."""

        def __init__(self, table: Table, at: int) -> None:
            super().__init__()
            self.table, self.at = table, at

    class Opened(Message):
        """The chosen row was clicked."""

        def __init__(self, table: Table, at: int) -> None:
            super().__init__()
            self.table, self.at = table, at

    class Seen(Message):
        """Other rows are seen."""

    class Headed(Message):
        """The head of a column was clicked."""

        def __init__(self, table: Table, column: int) -> None:
            super().__init__()
            self.table, self.column = table, column

    def __init__(self, title: str, columns: Sequence[Column]) -> None:
        super().__init__()
        self.title = title
        self.columns = tuple(columns)
        self.count = 0
        self.chosen = 0
        self.note: list[Run] = []
        """What stands at the right of the title."""
        self.sorted_by: int | None = None
        self.falling = False
        self._cells: Callable[[int], Sequence[Cell]] = lambda _: ()
        self._empty: tuple[str, ...] = ("reading…",)
        self._widest = [0] * len(self.columns)
        self._top = 0
        self._room = 1
        self._first = 0
        self._places: list[tuple[int, int, int]] = []
        self._told = range(0)

    def fill(self, count: int, made: Callable[[int], Sequence[Cell]], empty: Iterable[str] = ()) -> None:
        """So many rows; `empty` is what is said where there are none."""
        self.count, self._cells, self._empty = count, made, tuple(empty)
        self._choose(self.chosen)
        self.redraw()

    def expect(self, count: int, chosen: int) -> None:
        """So many rows, of which that one is chosen, are filled in next; nothing is drawn before that."""
        self.count = count
        self._choose(chosen)

    @property
    def seen(self) -> range:
        """The rows that are seen."""
        return range(self._top, min(self.count, self._top + self._room))

    def move(self, way: int) -> None:
        """The chosen row, by so many."""
        self._choose(self.chosen + way)
        self.redraw()

    def page(self, way: int) -> None:
        """By what is seen at once."""
        self.move(way * max(1, self._room - 1))

    def end(self, side: int) -> None:
        """The first row, or the last."""
        self.move(-self.count if side < 0 else self.count)

    def _choose(self, at: int) -> None:
        at = min(max(0, at), max(0, self.count - 1))
        if at != self.chosen:
            self.chosen = at
            if self.is_attached:
                self.post_message(self.Chosen(self, at))
        self._follow()

    def _follow(self) -> None:
        """The chosen row is seen."""
        self._top = min(max(self._top, self.chosen - self._room + 1), self.chosen)
        self._top = max(0, min(self._top, self.count - self._room))

    def head(self, wide: int) -> list[Run]:
        """The note, and which rows are seen where that is not all of them."""
        if self.count <= self._room:
            return list(self.note)
        seen = self.seen
        place: Run = (f"{seen.start + 1}-{seen.stop} of {self.count}", "label")
        whole = [*self.note, *([("  ", "blank")] if self.note else []), place]
        return whole if cells.length(whole) <= wide else [place]

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """The room for rows is known before the title tells which are seen."""
        framed = sheet.high >= LEAST_FRAMED and not self.has_class("-bare")
        self._first = 2 if framed else 1
        self._room = max(1, sheet.high - (3 if framed else 1))
        self._follow()
        if self.seen != self._told:
            self._told = self.seen
            self.post_message(self.Seen())
        return super().picture(sheet)

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:  # noqa: ARG002  (the room is known)
        """Heads, and the rows that are seen."""
        if not self.count:
            return [[(line, "label")] for text in self._empty for line in wrapped(text, wide)]
        made = [self._cells(at) for at in self.seen]
        for line in made:
            for at, cell in enumerate(line):
                column = self.columns[at]
                needed = column.least if callable(cell) else min(column.most, _length(cell))
                self._widest[at] = max(self._widest[at], needed)
        told = [at for at in range(len(self.columns)) if any(_tells(line[at]) for line in made)]
        self._lay_out(wide, told)
        found = [self._heads()]
        for at, line in zip(self.seen, made, strict=True):
            found.append(self._line(glyphs, line, lit=at == self.chosen, wide=wide))
        return found

    def _lay_out(self, wide: int, told: Sequence[int]) -> None:
        """Which of the columns that tell anything are shown, where, and how wide."""
        widths = {at: self._width(at) for at in told}
        while sum(widths.values()) + GAP * (len(widths) - 1) > wide:
            least = max(widths, key=lambda at: (self.columns[at].dispensable, at))
            if not self.columns[least].dispensable:
                break
            del widths[least]
        rest = wide - sum(widths.values()) - GAP * (len(widths) - 1)
        growing = [at for at in widths if self.columns[at].grows]
        for number, at in enumerate(growing):
            more = max(0, rest) // len(growing) + (max(0, rest) % len(growing) if not number else 0)
            widths[at] = min(self.columns[at].most, widths[at] + more)
        places, left = [], 0
        for at, width in widths.items():
            places.append((at, left, max(0, min(width, wide - left))))
            left += width + GAP
        self._places = [place for place in places if place[2] > 0]

    def _width(self, at: int) -> int:
        column = self.columns[at]
        name = cells.width(column.name) + (2 if at == self.sorted_by else 0)
        return column.least if column.grows else min(max(column.least, self._widest[at], name), max(column.most, name))

    def _heads(self) -> list[Run]:
        sign = {True: " ↓", False: " ↑"}[self.falling]
        heads: list[Run] = [
            (column.name + (sign if at == self.sorted_by else ""), "label") for at, column in enumerate(self.columns)
        ]
        return self._joined([(at, [heads[at]], width) for at, _, width in self._places], "blank")

    def _line(self, glyphs: Glyphs, line: Sequence[Cell], *, lit: bool, wide: int) -> list[Run]:
        parts = []
        for at, _, width in self._places:
            cell = line[at]
            drawn = cell(glyphs, width) if callable(cell) else _cut(cell, width, glyphs.cut)
            parts.append((at, drawn, width))
        row = cells.padded(self._joined(parts, "blank"), wide)
        return [(text, f"{role}+") for text, role in row] if lit else row

    def _joined(self, parts: Sequence[tuple[int, list[Run], int]], role: str) -> list[Run]:
        row: list[Run] = []
        for number, (at, drawn, width) in enumerate(parts):
            row += [(" " * GAP, role)] if number else []
            free = max(0, width - cells.length(drawn))
            blank: list[Run] = [(" " * free, role)] if free else []
            row += [*blank, *drawn] if self.columns[at].right else [*drawn, *blank]
        return row

    def on_click(self, event: events.Click) -> None:
        """A row is chosen, the chosen one opened; the head of a column is told."""
        at = self._top + event.y - self._first
        if event.y == self._first - 1:
            inner = event.x - (2 if self._first == 2 else 0)
            for column, left, width in self._places:
                if left <= inner < left + width:
                    self.post_message(self.Headed(self, column))
        elif event.y >= self._first and at in self.seen:
            if at == self.chosen:
                self.post_message(self.Opened(self, at))
            self._choose(at)
            self.redraw()

    def on_mouse_scroll_down(self) -> None:
        """The rows are moved; the chosen one stays in sight."""
        self._scroll(_WHEEL)

    def on_mouse_scroll_up(self) -> None:
        """The same the other way."""
        self._scroll(-_WHEEL)

    def _scroll(self, way: int) -> None:
        self._top = max(0, min(self._top + way, self.count - self._room))
        self._choose(min(max(self.chosen, self._top), self._top + self._room - 1))
        self.redraw()


def _runs(cell: Run | list[Run]) -> list[Run]:
    return cell if isinstance(cell, list) else [cell]


def _length(cell: Run | list[Run]) -> int:
    return sum(cells.width(inert(text[:_LONG])) for text, _ in _runs(cell))


def _tells(cell: Cell) -> bool:
    return callable(cell) or _length(cell) > 0


def _cut(cell: Run | list[Run], wide: int, end: str) -> list[Run]:
    """Made inert, and with a sign at its end where it was cut."""
    found: list[Run] = []
    for text, role in _runs(cell):
        short = cells.cut(text[: _LONG + 1], wide, end)
        found.append((short, role))
        wide -= cells.width(short)
        if len(short) < len(text):
            break
    return found


def wrapped(text: str, wide: int) -> list[str]:
    """A text in lines of at most so many cells, broken at blanks where there are any."""
    lines: list[str] = []
    for word in cells.cut(text, 1 << 20).split(" "):
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and cells.width(joined) <= wide:
            lines[-1] = joined
        else:
            lines += cells.chopped(word, wide)
    return lines or [""]
