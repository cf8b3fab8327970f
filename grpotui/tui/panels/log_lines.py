"""Lines of a log as rows of cells: tag, number, text with its hits, long lines cut or wrapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import chop_cells

from grpotui.text import size
from grpotui.tui import cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.glyphs import Glyphs
    from grpotui.tui.lines.matching import Matcher
    from grpotui.tui.lines.values import Line

_COLOURS = 6
_SHORT = {"stdout": "out", "stderr": "err"}


class Look(NamedTuple):
    """How lines are laid out."""

    names: Sequence[str]
    """Their logs: each member has a colour."""
    digits: int
    """Of the largest number."""
    shift: int
    """Cells of the text that are left of the screen."""
    wrap: bool
    most: int
    """Rows of one line, where it is wrapped."""
    matcher: Matcher | None
    """What is lit."""


def tag_of(name: str) -> str:
    """`0 err`: whose line it is."""
    member, _, stream = name.rpartition("/")
    return f"{cells.cut(member, 10)} {_SHORT.get(stream, stream)}" if member else ""


def member_of(name: str) -> str:
    """The member whose log it is; a file's own name."""
    return name.rpartition("/")[0] or name


def spoken(name: str) -> str:
    """`rank 0 stderr`."""
    member, _, stream = name.rpartition("/")
    return f"rank {member} {stream}" if member.isdecimal() else f"{member} {stream}".strip()


def rows_of(line: Line, look: Look, glyphs: Glyphs, wide: int, *, lit: bool) -> list[list[Run]]:
    """One row, or as many as the text takes; `lit`: it is the one that is pointed at."""
    head, room = _head(line, look, lit=lit), _room(look, wide)
    runs = _text(line, look)
    parts = _wrapped(runs, look, room) if look.wrap else [_shifted(runs, look.shift, room, glyphs.cut)]
    mark = "+" if lit else ""
    blank: list[Run] = [(" " * cells.length(head), f"blank{mark}")]
    found = []
    for number, part in enumerate(parts):
        row = cells.padded([*(head if not number else blank), *((text, role + mark) for text, role in part)], wide)
        found.append([*row[:-1], (row[-1][0], row[-1][1] + mark)] if lit and row[-1][1] == "blank" else row)
    return found


def height_of(line: Line, look: Look, wide: int) -> int:
    """Rows that it takes."""
    return len(_wrapped(_text(line, look), look, _room(look, wide))) if look.wrap else 1


def _room(look: Look, wide: int) -> int:
    return max(8, wide - _head_width(look))


def _head_width(look: Look) -> int:
    tag = max((cells.width(tag_of(name)) for name in look.names), default=0)
    return 2 + (tag + 1 if tag else 0) + look.digits + 1


def _head(line: Line, look: Look, *, lit: bool) -> list[Run]:
    """A sign for an error, whose it is, its number."""
    mark = "+" if lit else ""
    tag, most = tag_of(line.file), max((cells.width(tag_of(name)) for name in look.names), default=0)
    colour = sorted({member_of(name) for name in look.names} | {member_of(line.file)}).index(member_of(line.file))
    role = f"line{colour % _COLOURS}"
    head: list[Run] = [("✖ " if line.is_error else "  ", f"critical{mark}")]
    if most:
        head.append((f"{tag}{' ' * (most - cells.width(tag))} ", role + mark))
    return [*head, (f"{line.number + 1:>{look.digits}} ", f"label{mark}")]


def _text(line: Line, look: Look) -> list[Run]:
    role = "critical" if line.is_error else "title"
    runs: list[Run] = []
    at = 0
    for begin, end in look.matcher.spans(line.text) if look.matcher is not None else ():
        runs += [(line.text[at:begin], role), (line.text[begin:end], "hit")]
        at = end
    runs.append((line.text[at:], role))
    more: list[Run] = [(f" … {size(line.more)} more", "label")] if line.more else []
    return [run for run in (*runs, *more) if run[0]]


def _shifted(runs: Sequence[Run], shift: int, room: int, cut: str) -> list[Run]:
    """The part of a row from `shift` on; a sign stands where something is cut off."""
    found: list[Run] = []
    skip, left = shift, room
    for whole, role in runs:
        text = whole[: 4 * (skip + left) + 8]
        wide = cells.width(text)
        if wide <= skip:
            skip -= wide
            continue
        if skip:
            text, skip = text[len(_first(text, skip)) :], 0
            wide = cells.width(text)
        if wide > left:
            kept = _first(text, left - 1)
            return [*found, (kept, role), (cut, "label")]
        found.append((text, role))
        left -= wide
    return found


def _first(text: str, most: int) -> str:
    """What of a text fits; only its beginning is measured, since that takes 1 µs a character."""
    return chop_cells(text[: 4 * most + 8], most)[0] if most > 0 and text else ""


def _wrapped(runs: Sequence[Run], look: Look, room: int) -> list[list[Run]]:
    """At most as many rows as one line may take."""
    rows: list[list[Run]] = [[]]
    left = room
    for text, role in runs:
        at = 0
        while at < len(text):
            part = _first(text[at : at + 4 * left + 8], left)
            if part and cells.width(part) <= left:
                rows[-1].append((part, role))
                at, left = at + len(part), left - cells.width(part)
            if at < len(text):
                if len(rows) > look.most:
                    return [*rows[: look.most - 1], [("… more: w and → show it", "label")]]
                rows.append([])
                left = room
    return rows if len(rows) <= look.most else [*rows[: look.most - 1], [("… more: w and → show it", "label")]]
