"""What is looked for in the log of a Hugging Face trainer, and the places at which it counts.

What stands in a table's cell, or inside a larger dictionary or list, is somebody's text and no item.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from grpotui_supervisor.logs.hf_bar import TRAINERS_BAR
from grpotui_supervisor.logs.reader import HEAD_LIMIT

WHOLE_BAR = re.compile(rf"{TRAINERS_BAR.pattern}[^\]\r\n]*\]?")
_RANK = re.compile(r"\[(?:default|rank)?([0-9]{1,6})\]:$|^([0-9]{1,6}):$")
_INSIDE = re.compile(r"""(?:['"]\s*:|[\[(,=])\s*$""")
_BEHIND_AN_ITEM = (",", "]", ")", "}")
_LINE_ENDS = ("", "\n", "\r")
_BOXES = ("│", "┃", "|")


class Drawn(NamedTuple):
    """A bar without a label; `follows` when it was drawn again right behind the last dictionary."""

    done: int
    total: int
    redrawn: bool
    follows: bool


class Title(NamedTuple):
    """The title of a table of completions."""

    step: int


class Dictionary(NamedTuple):
    """A dictionary that may be the trainer's, braces included."""

    text: str
    label: str
    """What stands before it on its line, a bar left out."""

    @property
    def rank(self) -> int | None:
        """The rank that printed it, where a launcher says so."""
        found = _RANK.search(self.label)
        return int(found[1] or found[2]) if found else None


Item = Drawn | Title | Dictionary


def line_start(text: str, place: int) -> int | None:
    """Where the line of this place begins; None when that is too far away."""
    low = max(0, place - HEAD_LIMIT)
    end = max(text.rfind("\n", low, place), text.rfind("\r", low, place))
    return end + 1 if end >= 0 or not low else None


def before(text: str, place: int) -> str:
    """What stands before this place on its line, or the end of it."""
    if text[place - 1 : place] in _LINE_ENDS:
        return ""
    begin = line_start(text, place)
    return text[place - HEAD_LIMIT if begin is None else begin : place]


def line_end(text: str, start: int, end: int) -> int:
    """The first line end in this part of the text; -1 when there is none."""
    newline = text.find("\n", start, end)
    carriage_return = text.find("\r", start, end if newline < 0 else newline)
    return newline if carriage_return < 0 else carriage_return


def in_a_box(front: str) -> bool:
    """Whether a text in front of a place makes it a table's cell."""
    return front.lstrip().startswith(_BOXES)


def is_a_part(front: str, text: str, end: int) -> bool:
    """Whether what ends at `end` is a value or an item of something larger."""
    return text.startswith(_BEHIND_AN_ITEM, end) or (front != "" and _INSIDE.search(front[-64:]) is not None)


def label(front: str) -> str:
    """A text in front of a place, without the bar."""
    return WHOLE_BAR.sub("", front).strip() if front else ""
