"""A terminal's screen, made of the bytes that a program writes to it; strict about what it obeys.

It knows the sequences that the dashboard has use for, and keeps all others: whatever is `foreign` came from a text
that should have been inert.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

OWN = re.compile(
    r"\x1b\[(?P<place>\d+;\d+|)H|\x1b\[(?P<look>[\d;]*)m|\x1b\[\?(?P<mode>\d+)(?P<on>[hl])"
    r"|\x1b\[>\d+u|\x1b\[<u|\x1b\[\?\d+\$p|\x1b\]22;\w*\x07|\x1b\[(?P<erase>[023]?)J|\x1b\[(?P<line>[02]?)K"
)
FOREIGN = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[P_^X][^\x1b]*(?:\x1b\\)?|\x1b[ -~]|\x1b"
)
MODES_OF_A_SHELL = {7: True, 25: True}
"""What is on before; everything else is off."""


def cells(character: str) -> int:
    """How many columns a terminal gives it."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


class Emulator:
    """Rows of cells. The right half of a wide character is an empty string.

    Attributes:
        foreign: sequences and control characters that no program of ours has use for.
        looks: every SGR that came.
        modes: which private modes are on.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.grid = self._blank()
        self.main = self._blank()
        self.row = self.column = 0
        self.foreign: list[str] = []
        self.looks: set[str] = set()
        self.modes: dict[int, bool] = dict(MODES_OF_A_SHELL)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._left = ""

    def resize(self, columns: int, rows: int) -> None:
        """What is there stays where it is, as far as there is room."""
        old, self.columns, self.rows = self.grid, columns, rows
        self.grid = self._blank()
        for new, row in zip(self.grid, old, strict=False):
            new[: min(columns, len(row))] = row[:columns]
        self.row, self.column = min(self.row, rows - 1), min(self.column, columns)

    def feed(self, block: bytes) -> None:
        """Any part of what is written."""
        text = self._left + self._decoder.decode(block)
        self._left = ""
        at = 0
        while at < len(text):
            character = text[at]
            if character == "\x1b":
                if len(text) - at < 64 and self._is_unfinished(text[at:]):
                    self._left = text[at:]
                    return
                at += self._obey(text, at)
            elif character == "\r":
                self.column, at = 0, at + 1
            elif character == "\n":
                self._line_feed()
                at += 1
            else:
                if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp"):
                    self.foreign.append(character)
                else:
                    self._put(character)
                at += 1

    @property
    def lines(self) -> list[str]:
        """What can be read, row by row."""
        return ["".join(row).rstrip() for row in self.grid]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def _blank(self) -> list[list[str]]:
        return [[" "] * self.columns for _ in range(self.rows)]

    @staticmethod
    def _is_unfinished(text: str) -> bool:
        return re.fullmatch(r"\x1b(\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|)", text) is not None

    def _obey(self, text: str, at: int) -> int:
        found = OWN.match(text, at)
        if found is None:
            found = FOREIGN.match(text, at)
            assert found is not None
            self.foreign.append(found[0])
        elif found["place"] is not None:
            row, column = (int(number) - 1 for number in (found["place"] or "1;1").split(";"))
            self.row, self.column = min(row, self.rows - 1), column
        elif found["look"] is not None:
            self.looks.add(found["look"])
        elif found["mode"]:
            self._mode(int(found["mode"]), on=found["on"] == "h")
        elif found["erase"] is not None:
            self.grid = self._blank()
        elif found["line"] is not None:
            self.grid[self.row][self.column :] = [" "] * (self.columns - self.column)
        return len(found[0])

    def _mode(self, number: int, *, on: bool) -> None:
        self.modes[number] = on
        if number == 1049:
            if on:
                self.main, self.grid = self.grid, self._blank()
            else:
                rows = len(self.main), len(self.main[0])
                self.grid = self.main if rows == (self.rows, self.columns) else self._blank()
            self.row = self.column = 0

    def _line_feed(self) -> None:
        if self.row < self.rows - 1:
            self.row += 1
            return
        self.grid = [*self.grid[1:], [" "] * self.columns]

    def _put(self, character: str) -> None:
        wide = cells(character)
        if self.column + wide > self.columns:
            if not self.modes[7]:
                return
            self.column = 0
            self._line_feed()
        row = self.grid[self.row]
        if wide == 0:
            row[max(0, self.column - 1)] += character
            return
        row[self.column] = character
        if wide == 2:
            row[self.column + 1] = ""
        self.column += wide
