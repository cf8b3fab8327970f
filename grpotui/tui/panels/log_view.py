"""The window on a log: which lines are in it, which one is pointed at, and whether it stays at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui.text import duration, size
from grpotui.tui import cells
from grpotui.tui.panels.framed import Framed
from grpotui.tui.panels.log_lines import Look, height_of, rows_of, spoken

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.glyphs import Glyphs
    from grpotui.tui.lines.matching import Matcher
    from grpotui.tui.lines.values import Line, Window

EDGE = 2
"""Columns of the frame and its margin, on each side."""


class LogView(Framed):
    """Lines of the newest window. `moved` is called when other lines are needed.

    Attributes:
        at: the line that is pointed at.
        follows: it stays the last one, whatever comes.
    """

    title = "log"

    def __init__(self, feed: Feed, moved: Callable[[], object]) -> None:
        super().__init__()
        self.at = 0
        self.follows = True
        self.wrap = False
        self.matcher: Matcher | None = None
        self.said = ""
        self._feed = feed
        self.title = "log" if feed.kind == "log" else "log · all ranks"
        self._moved = moved
        self._top = 0
        self._shift = 0
        self._window: Window | None = None
        self._place: tuple[int, str] | None = None

    @property
    def high(self) -> int:
        """Rows of text."""
        return max(1, self.size.height - 2)

    @property
    def top(self) -> int:
        """The first line on the screen."""
        return self._top

    @property
    def total(self) -> int:
        """Lines that there are."""
        return 0 if self._window is None else self._window.total

    @property
    def line(self) -> Line | None:
        """The line that is pointed at, where it is known."""
        return self._line(self.at)

    def take(self, window: Window) -> None:
        """Lines have come."""
        self._window = window
        last = max(0, window.total - 1)
        self.at = last if self.follows else min(self.at, last)
        self._fit()
        self.redraw()

    def go(self, to: int) -> None:
        """Points at another line; the last one is followed."""
        last = max(0, self.total - 1)
        to = min(max(0, to), last)
        self.follows = to == last
        self.at, self.said = to, ""
        self._fit()
        self.redraw()
        self._moved()

    def page(self, way: int) -> None:
        """A screen on."""
        step = max(1, self.high - 1)
        self._top = max(0, self._top + way * step)
        self.go(self.at + way * step)

    def centre(self, to: int) -> None:
        """Points at a line and shows what is around it."""
        self._top = max(0, to - self.high // 2)
        self.go(to)

    def shift(self, way: int) -> None:
        """Left or right, by half of what is seen."""
        self._shift = max(0, self._shift + way * max(8, self.size.width // 2))
        self.redraw()

    def say(self, text: str) -> None:
        """A word in the lower edge, until the next key."""
        self.said = text
        self.redraw()

    def head(self, wide: int) -> list[Run]:
        """How many lines, and whether its end is followed."""
        window = self._window
        if window is None:
            return [("reading…", "label")]
        runs: list[Run] = []
        if window.left:
            runs.append((f"reading, {size(window.left)} to go", "label"))
        elif window.searched is not None:
            runs.append((f"searching {window.searched:.0%}", "label"))
        if window.wish.words:
            runs.append((f"filter {cells.cut(window.wish.words, 24)}", "warning"))
        if self._shift:
            runs.append((f"from column {self._shift + 1}", "warning"))
        runs.append((f"{window.total:,} lines", "value"))
        where = "▼ end" if self.follows else f"{self.at + 1:,}"
        runs.append((where, "good" if self.follows else "label"))
        spaced = [part for run in runs for part in (("  ", "blank"), run)][1:]
        return spaced if cells.length(spaced) <= wide else runs[-1:]

    def foot(self, wide: int) -> Run | None:
        """What the line belongs to."""
        if self.said:
            return cells.cut(self.said, wide), "warning"
        line = self.line
        if line is None:
            return None
        words = f"{spoken(line.file)} line {line.number + 1:,}{self._where(line)}"
        return cells.cut(words + (" · not ended" if line.is_open else ""), wide), "label"

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """Those that there are; what is on its way is blank."""
        window = self._window
        if window is None:
            return [[("reading…", "label")]]
        notes: list[list[Run]] = [[(f"▲ {cells.cut(note, wide - 2)}", "warning")] for note in window.notes]
        if not window.total:
            return [*notes, *([] if notes else [[(self._empty(window), "label")]])]
        look, room = self._manner(), high - len(notes)
        found: list[list[Run]] = []
        fills = self.wrap and self.follows  # the rows above are those of a line that begins above the screen
        for at in range(max(0, self._top - fills), min(window.total, self._top + high)):
            if len(found) >= room and not fills:
                break
            line = self._line(at)
            found += [[]] if line is None else rows_of(line, look, glyphs, wide, lit=at == self.at)
        return [*notes, *(found[-room:] if fills else found)]

    def _empty(self, window: Window) -> str:
        if window.left:
            return "reading…"
        if window.wish.words:
            return "no line matches the filter; f changes it, Esc takes it away"
        moment = " as of the cursor" if self._feed.kind != "live" else " yet"
        return f"nothing was printed{moment}"

    def _where(self, line: Line) -> str:
        """Time and step; asked for once a line, since the feed has to be."""
        if self._place is None or self._place[0] != line.moment:
            place = self._feed.place(line.moment)
            words = "" if place.offset_s is None else f" · +{duration(place.offset_s)}"
            if place.step is not None:
                words += f" · step {place.step}" if place.is_done else f" · after step {place.step}"
            self._place = line.moment, words
        return self._place[1]

    def _manner(self) -> Look:
        window = self._window
        names = () if window is None else (window.wish.files or window.names)
        most = max((line.number for line in window.lines), default=0) if window is not None else 0
        rows = max(2, self.high * 2 // 3)
        return Look(names if len(names) > 1 else (), len(str(most + 1)), self._shift, self.wrap, rows, self.matcher)

    def _line(self, at: int) -> Line | None:
        window = self._window
        if window is None or not 0 <= at - window.begin < len(window.lines):
            return None
        return window.lines[at - window.begin]

    def _fit(self) -> None:
        """The line that is pointed at is on the screen, all of it where that is possible."""
        if not self.wrap:
            self._top = min(self._top, max(0, self.total - self.high))
        if self.at < self._top:
            self._top = self.at
            return
        look, wide = self._manner(), self.size.width - 2 * EDGE
        left = self.high - len(self._window.notes if self._window is not None else ())
        top = self.at
        while top >= 0:
            line = self._line(top)
            left -= 1 if line is None else height_of(line, look, wide)
            if left < 0 and top < self.at:
                break
            top -= 1
        self._top = max(self._top if not self.follows else 0, top + 1)

    def on_resize(self, *_: Any) -> None:  # noqa: ANN401  (Textual's event)
        """More or fewer lines are needed."""
        super().on_resize()
        self._fit()
        self._moved()
