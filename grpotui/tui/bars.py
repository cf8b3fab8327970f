"""Where the time of each step went: stacked bars, the newest at the right, and the parts in words.

A step of which only the whole is known, or more than its parts, has the rest as a neutral part of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from grpotui.tui import border, cells, labels
from grpotui.tui.canvas import BLANK
from grpotui.tui.glyphs import PARTS
from grpotui.tui.scale import Scale, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.glyphs import Glyphs

_WIDEST = 4
"""Cells of one bar at most, where steps are few."""
_SMALL = 44
_NARROW = 12
"""Less cells than these hold no scale."""
_LEGEND_FROM = 3
NO_TIMES = "no times of a step yet"
_LEVELS = 8
"""Of one cell, as many as there are glyphs for."""
UNSPLIT = "not split"
"""Time of a step of which no part is known; no log has a part of this name."""
_ROUNDING = 0.005
"""Parts that lack no more of the whole than this share were rounded."""


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds by part as far as known, in the order in which they are stacked; `total` where it is known too."""

    number: int
    seconds: Mapping[str, float]
    total: float | None = None

    def known(self) -> list[tuple[str, float]]:
        """The parts that took time, and what of the whole is in none of them."""
        found = [(name, value) for name, value in self.seconds.items() if isfinite(value) and value > 0]
        rest = self.length() - sum(value for _, value in found)
        return [*found, (UNSPLIT, rest)] if rest > self.length() * _ROUNDING else found

    def length(self) -> float:
        """The step's own time where it is known and not less than its parts."""
        parts = sum(value for value in self.seconds.values() if isfinite(value) and value > 0)
        return max(parts, self.total) if self.total is not None and isfinite(self.total) else parts


def places(steps: Sequence[Step]) -> dict[str, int]:
    """Glyph and colour of every part; what is not in `PARTS` takes the next free ones in the order of their coming."""
    found = {name: place for place, name in enumerate(PARTS)}
    for step in steps:
        for name in step.seconds:
            found.setdefault(name, len(found))
    return found


def stack(step: Step, full: float, length: int) -> list[str | None]:
    """Which part each of `length` places belongs to, from the start on; None beyond the end of the step.

    A step that took any time has at least one place.
    """
    known = step.known()
    if not known or not full > 0 or length < 1:
        return [None] * length
    out: list[str | None] = []
    reached = 0.0
    for name, value in known:
        reached += value / full
        out += [name] * (round(min(1.0, reached) * length) - len(out))
    if not out:
        out.append(max(known, key=lambda part: part[1])[0])
    return out + [None] * (length - len(out))


def draw(steps: Sequence[Step], sheet: Sheet, title: str, reason: str = NO_TIMES) -> list[list[Run]]:
    """From four rows on a frame with one bar a step, else the newest step alone; `reason` where there is none."""
    glyphs, wide, high = sheet
    if not steps:
        return _nothing(sheet, title, reason)
    look = _Look(glyphs, places(steps))
    if high < 4 or wide < _NARROW:
        return _flat(look, steps[-1], sheet, title)
    rows = high - 2
    legend = rows >= _LEGEND_FROM
    side: Run = (glyphs.frame[5], "frame")
    body, foot = _upright(look, steps, wide, rows - legend)
    value: list[Run] = [(f"{_seconds(steps[-1].length())}s", "value")]
    lines = [[side, *row, side] for row in body]
    if legend:
        lines.append([side, *cells.padded([BLANK, *look.legend(steps[-1], wide - 3)], wide - 2), side])
    return [border.top(glyphs, title, value, wide), *lines, foot]


class _Look:
    """Glyph and role of a part."""

    def __init__(self, glyphs: Glyphs, places: Mapping[str, int]) -> None:
        self.glyphs, self._places = glyphs, places

    def cell(self, name: str | None) -> Run:
        if name is None:
            return BLANK
        if name == UNSPLIT:
            return self.glyphs.unsplit, "unsplit"
        place = self._places[name] % len(self.glyphs.bars)
        return self.glyphs.bars[place], f"part{place}"

    def column(self, step: Step, full: float, rows: int) -> list[Run]:
        """A step upwards: a cell is of one part, or of two over each other where the glyphs can show it."""
        places = stack(step, full, rows * _LEVELS)
        return [self._level(places[at : at + _LEVELS], at) for at in range(0, rows * _LEVELS, _LEVELS)]

    def _level(self, places: Sequence[str | None], at: int) -> Run:
        parts = [name for name in places if name is not None]
        if not self.glyphs.eighths:
            shown = parts if at == 0 and parts else places
            return self.cell(max(dict.fromkeys(shown), key=shown.count))
        if 0 < len(parts) < _LEVELS:
            return self.glyphs.eighths[len(parts) - 1], self.cell(max(dict.fromkeys(parts), key=parts.count))[1]
        height = places.count(places[0])
        if height == _LEVELS:
            return self.cell(places[0])
        upper = max(dict.fromkeys(parts[height:]), key=parts.count)
        return self.glyphs.eighths[height - 1], f"{self.cell(places[0])[1]}/{self.cell(upper)[1]}"

    def legend(self, step: Step, wide: int) -> list[Run]:
        """As much about each part as there is room for; the last thing to go is a part itself."""
        parts = step.known()
        if not parts:
            return [(cells.cut("its time is not known", wide, self.glyphs.cut), "label")]
        length = step.length()
        ranked = sorted(parts, key=lambda part: -part[1])
        large = [part for part in parts if part[1] >= length * _SMALL_PART or part in ranked[:2]]
        ways = [(words, shown) for shown in (parts, large) for words in _DETAILS]
        ways += [(_short, [part for part in parts if part in ranked[:most]]) for most in range(len(parts), 0, -1)]
        runs: list[Run] = []
        for words, shown in ways:
            runs = self._legend([(name, words(name, value, value / length)) for name, value in shown])
            left = len(parts) - len(shown)
            runs += [(f"  +{left} smaller" if words is not _short else f" +{left}", "label")] if left else []
            if cells.length(runs) <= wide:
                return runs
        return cells.padded(runs, wide)

    def _legend(self, entries: Sequence[tuple[str, str]]) -> list[Run]:
        cut = self.glyphs.cut
        return cells.spaced([self.cell(name), (f" {cells.cut(words, 40, cut)}", "label")] for name, words in entries)


def _full(name: str, value: float, share: float) -> str:
    return f"{name} {_seconds(value)}s {share:.0%}"


def _large(name: str, value: float, share: float) -> str:
    return _full(name, value, share) if share >= 0.1 else f"{name} {_seconds(value)}s"


def _times(name: str, value: float, _share: float) -> str:
    return f"{name} {_seconds(value)}s"


def _short(name: str, value: float, _share: float) -> str:
    return f"{name[:3]} {_seconds(value)}"


_DETAILS: tuple[Callable[[str, float, float], str], ...] = (_full, _large, _times)
"""Before the words are shortened, parts that are small are left out."""
_SMALL_PART = 0.02


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _upright(look: _Look, steps: Sequence[Step], wide: int, rows: int) -> tuple[list[list[Run]], list[Run]]:
    """Bars with their scale, and the lower frame with the numbers of the steps."""
    gutter = 6 if wide < _SMALL else 7
    room = wide - 2 - gutter
    each = max(1, min(_WIDEST, room // len(steps)))
    shown = steps[-(room // each) :]
    full = max(step.length() for step in shown)
    names = ticks(Scale.around(0.0, full or 1.0, rows * 8), rows, gutter - 1)
    columns = [look.column(step, full, rows) for step in shown]
    before = room - len(shown) * each
    body = [
        cells.merged(
            [
                (f"{names.get(rows - 1 - row, ''):>{gutter - 1}} ", "label"),
                (" " * before, "blank"),
                *(cell for column in columns for cell in [column[row]] * each),
            ]
        )
        for row in range(rows - 1, -1, -1)
    ]
    return body, _foot(look.glyphs, shown, wide, gutter + before, each)


def _foot(glyphs: Glyphs, shown: Sequence[Step], wide: int, start: int, each: int) -> list[Run]:
    """The newest step, the oldest, and round ones between them as far as they have room."""
    foot = border.Foot(glyphs, wide)
    foot.label(wide - 3, labels.count(shown[-1].number))
    every = next(n * 10**p for p in range(12) for n in (1, 2, 5) if n * 10**p * each >= 12)
    for at, step in enumerate(shown):
        if step.number % every == 0:
            foot.label(start + at * each + each // 2, labels.count(step.number))
    foot.label(start + each // 2, labels.count(shown[0].number), room=4)
    return foot.runs()


def _flat(look: _Look, step: Step, sheet: Sheet, title: str) -> list[list[Run]]:
    """One step lying down; its parts in words beside it, or below it where there are two rows."""
    _, wide, high = sheet
    head = f"{cells.cut(title, wide // 4, look.glyphs.cut)} {_seconds(step.length())}s "
    room = max(0, wide - cells.width(head))
    if high == 1:
        said = look.legend(step, room * 3 // 5)
        room = max(0, room - cells.length(said) - 1)
    else:
        said = []
    bar = cells.merged(look.cell(name) for name in stack(step, step.length(), room))
    rows = [cells.padded([(head, "value"), *bar, *([BLANK] if said else []), *said], wide)]
    if high > 1:
        rows.append(cells.padded(look.legend(step, wide), wide))
    return sheet.rest(rows)


def _nothing(sheet: Sheet, title: str, reason: str) -> list[list[Run]]:
    if sheet.high >= 4 and sheet.wide >= _NARROW:
        return border.empty(sheet, title, reason)
    text = cells.cut(f"{title}: {reason}", sheet.wide, sheet.glyphs.cut)
    return sheet.rest([cells.padded([(text, "label")], sheet.wide)])
