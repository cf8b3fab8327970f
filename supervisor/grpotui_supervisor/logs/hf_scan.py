"""Finds in one stream what the trainers of the Hugging Face family print: dictionaries, bars, titles of tables.

A dictionary is glued to a bar or to a prefix in front of it, so it is searched for, not expected at the start of
a line. A terminal's copy of it is hard-wrapped inside words, and a buffered one is cut by bars: the pieces are
joined until the brace closes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.logs import hf_items
from grpotui_supervisor.logs.hf_bar import DRAWING, REDRAWN, TRAINERS_BAR
from grpotui_supervisor.logs.hf_dicts import DICT_LIMIT
from grpotui_supervisor.logs.hf_items import Dictionary, Drawn, Title
from grpotui_supervisor.logs.hf_kinds import hinted
from grpotui_supervisor.logs.hf_text import WholeLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.logs.hf_items import Item

LINES_LIMIT: Final = 128
"""Lines of a wrapped dictionary: 2.3 thousand characters at 20 a line."""

NESTED_LIMIT: Final = 1 << 14
"""Characters of a dictionary that holds another one."""

_ITEM = re.compile(rf"""\{{['"]|{DRAWING}|╭─""")
_OPEN = re.compile(r"""\{['"]""")
_BEFORE_A_VALUE = " :,[("
_TITLE = re.compile(r"╭─+ Step ([0-9]{1,12}) ─+╮")
_OPENS_A_LINE = re.compile(r"""\{['"][^'"{}]{0,200}(?:$|['"]\s*(?:$|:))""")
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[{}]""")


class Scanner:
    """One stream, read as it grows.

    Attributes:
        total: the steps of the trainer's bar, once it is known for sure. From then on only the first and the last of
            its drawings between two other items are found: a run that logs every 10 steps draws 11 for one dictionary.
    """

    __slots__ = ("_behind", "_corner", "_front", "_gap", "_hopeless", "_lines", "_pieces", "_tail", "total")

    def __init__(self) -> None:
        self.total: int | None = None
        self._lines = WholeLines()
        self._tail = ""  # of the text read before
        self._behind = 0  # where the last dictionary ended in this text
        self._gap: str | None = None  # line ends behind it in the text before; None: more than that
        self._corner = -1  # the next one of a table in this text
        self._hopeless = 0  # no dictionary with another one inside ends before this place
        self._pieces: list[str] = []  # of a dictionary that goes on in the next line
        self._front = ""  # what stands before it

    def feed(self, block: bytes) -> Iterator[Item]:
        """What is found in the lines that end in this block, and the bar that the open line begins with."""
        text = self._lines.feed(block)
        if text:
            yield from self._read(text)
            self._remember(text)
        head = self._lines.head()
        if "%" in head and (bar := TRAINERS_BAR.match(head)):
            yield self._drawn(bar, "", 0)

    def _read(self, text: str) -> Iterator[Item]:
        position = looked = 0
        while position < len(text):
            if self._pieces:
                position, found = self._go_on(text, position)
                looked = position
            else:
                start, end = self._next(text, position)
                position, found = self._item(text, start, end)
                if self.total is None:
                    looked = position
                elif found or self._pieces or start == len(text):
                    yield from self._bars(text, looked, start)
                    looked = position
            for item in found:
                if isinstance(item, Dictionary):
                    self._gap, self._behind = "", position
                yield item

    def _remember(self, text: str) -> None:
        self._tail = (self._tail + text)[-len(REDRAWN) :]
        if self._gap is not None:
            gap = self._gap + text[self._behind : self._behind + len(REDRAWN) + 1]
            self._gap = gap if len(gap) <= len(REDRAWN) and not gap.strip("\r\n") else None
        self._behind = self._hopeless = 0
        self._corner = -1

    def _next(self, text: str, position: int) -> tuple[int, int]:
        """Where the next item begins, and where what tells it ends; the end of the text when there is none."""
        if self.total is None:
            item = _ITEM.search(text, position)
            return item.span() if item else (len(text), len(text))
        if self._corner < position:
            corner = text.find("╭─", position)
            self._corner = corner if corner >= 0 else len(text)
        item = _OPEN.search(text, position, self._corner)
        return item.span() if item else (self._corner, self._corner + 1)

    def _item(self, text: str, start: int, end: int) -> tuple[int, tuple[Item, ...]]:
        """What begins here, and where to search on."""
        if start == len(text):
            return start, ()
        if text[start] == "{":
            return self._dictionary(text, start)
        if text[start] != "%":
            return end, self._title(text, start)
        bar = _bar(text, end)
        return end, (self._drawn(bar, text, bar.start()),) if bar else ()

    def _title(self, text: str, start: int) -> tuple[Title, ...]:
        title = _TITLE.match(text, start)
        if title is None or hf_items.in_a_box(hf_items.before(text, start)):
            return ()
        return (Title(int(title[1])),)

    def _bars(self, text: str, start: int, end: int) -> tuple[Drawn, ...]:
        """The first and the last drawing of the trainer's bar in this part of the text."""
        drawing = f"/{self.total} ["
        first: re.Match[str] | None = None
        while first is None and (start := text.find(drawing, start, end)) >= 0:
            start += len(drawing)
            first = _bar(text, start)
        if first is None:
            return ()
        last: re.Match[str] | None = None
        while last is None and (end := text.rfind(drawing, start, end)) >= 0:
            last = _bar(text, end + len(drawing))
        drawn = self._drawn(first, text, first.start())
        return (drawn,) if last is None else (drawn, Drawn(int(last[1]), drawn.total, redrawn=False, follows=False))

    def _drawn(self, bar: re.Match[str], text: str, begin: int) -> Drawn:
        width = len(REDRAWN)
        front = text[begin - width : begin] if begin >= width else (self._tail + text[:begin])[-width:]
        follows = self._gap is not None and begin - self._behind <= width
        if follows:
            gap = (self._gap or "") + text[self._behind : begin]
            follows = gap.endswith("\n\r") and not gap.strip("\r\n") and len(gap) <= width
        return Drawn(int(bar[1]), int(bar[2]), front == REDRAWN, follows)

    def _dictionary(self, text: str, start: int) -> tuple[int, tuple[Dictionary, ...]]:
        close = text.find("}", start, start + DICT_LIMIT)
        until = min(start + DICT_LIMIT, len(text)) if close < 0 else close
        inner = text.find("{", start + 1, until)
        stop = hf_items.line_end(text, start, until)
        if stop >= 0 and not 0 <= inner < stop:
            if _OPENS_A_LINE.match(text, start, stop):
                self._pieces, self._front = [text[start:stop]], hf_items.before(text, start)
            return stop, ()
        if inner >= 0 and _OPEN.match(text, inner) and text[inner - 1] not in _BEFORE_A_VALUE:
            return inner, ()  # cut off: the next dictionary is glued to it
        end = self._end_of_nested(text, start) if inner >= 0 else close + 1
        if not end:
            return until if inner < 0 else inner, ()
        whole = text[start:end]
        return end, self._accept(whole, hf_items.before(text, start), text, end) if hinted(whole) else ()

    def _end_of_nested(self, text: str, start: int) -> int:
        """0 where the braces do not balance on this line; each character is looked at once only."""
        if start < self._hopeless:
            return 0
        limit = min(start + NESTED_LIMIT, len(text))
        stop = hf_items.line_end(text, start, limit)
        limit = limit if stop < 0 else stop
        depth = 0
        for token in _TOKEN.finditer(text, start, limit):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if not depth:
                return token.end()
        self._hopeless = limit
        return 0

    def _go_on(self, text: str, position: int) -> tuple[int, tuple[Item, ...]]:
        """One more line of an open dictionary, which is given up where it turns out to have been cut off."""
        stop = hf_items.line_end(text, position, len(text))
        bar = hf_items.WHOLE_BAR.match(text, position, stop)
        begin = bar.end() if bar else position
        rest = text[begin:stop]
        size = sum(map(len, self._pieces)) + len(rest)
        if "{" in rest or "╭" in rest or len(self._pieces) >= LINES_LIMIT or size > DICT_LIMIT:
            self._pieces = []
            return position, ()
        drawn = (self._drawn(bar, text, position),) if bar else ()
        close = rest.find("}")
        if close < 0:
            if rest.strip():  # the spaces that clear a bar are no piece
                self._pieces.append(rest)
            return stop + 1, drawn
        whole = "".join((*self._pieces, rest[: close + 1]))
        self._pieces = []
        end = begin + close + 1
        return end, drawn + (self._accept(whole, self._front, text, end) if hinted(whole) else ())

    def _accept(self, whole: str, front: str, text: str, end: int) -> tuple[Dictionary, ...]:
        """Nothing for a dictionary that cannot be the trainer's by its place."""
        if hf_items.is_a_part(front, text, end) or hf_items.in_a_box(front):
            return ()
        return (Dictionary(whole, hf_items.label(front)),)


def _bar(text: str, end: int) -> re.Match[str] | None:
    """The bar whose `n/N [` ends here, if it is one and begins its line."""
    begin = hf_items.line_start(text, end)
    bar = None if begin is None else TRAINERS_BAR.match(text, begin)
    return bar if bar is not None and bar.end() == end else None
