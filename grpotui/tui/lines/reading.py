"""The thread that reads the lines that a page shows: it counts, filters and searches between two wishes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from grpotui.tui.lines.matching import Errors, Matcher
from grpotui.tui.lines.pieces import Pieces, Place, View
from grpotui.tui.lines.scan import MOST, Filter, Search
from grpotui.tui.lines.shown import LIMIT, line_of
from grpotui.tui.lines.values import Hit, Line, Window, Wish
from grpotui.tui.wish_thread import WishThread
from grpotui_supervisor.errors import GrpotuiError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grpotui.tui.lines.growth import Growth

PERIOD_S: Final = 1 / 8
"""So often a page is told how far the work is."""
_TURN_S: Final = 0.004
"""So long the thread works before it looks for a wish."""
_KEPT: Final = 1000
"""Lines whose text is kept."""


class LineReader(WishThread[Wish]):
    """Lines by wish. `told` is called in its thread when there is another window.

    Attributes:
        window: the newest one.
    """

    def __init__(self, growth: Growth, told: Callable[[], object]) -> None:
        super().__init__("lines")
        self._growth = growth
        self._told = told
        self._errors = Errors()
        self._pieces = Pieces(growth)
        self._view = View(self._pieces, None)
        self._filter: Filter | None = None
        self._search: Search | None = None
        self._hit: Hit | None = None
        self._texts: dict[tuple[int, int], Line] = {}
        self._wish: Wish | None = None
        self._posted_at = 0.0
        self._busy = False
        self.window: Window | None = None

    def _turn(self, wish: Wish | None) -> bool:
        try:
            return self._worked(wish)
        except GrpotuiError as error:
            self._post(Window(self._wish or wish or Wish(None, "", None, 0, None), notes=(str(error),)))
            return False

    def _worked(self, wish: Wish | None) -> bool:
        fresh = wish is not None and self._take(wish)
        if self._growth.absent is not None:
            if self._wish is not None:
                self._post(Window(self._wish, notes=(self._growth.absent,)))
            return False
        hit, was_busy = self._hit, self._busy
        self._busy = self._advance()
        settled = was_busy and not self._busy
        if fresh or settled or self._hit != hit or time.monotonic() - self._posted_at > PERIOD_S:
            self._show()
        return self._busy

    def _take(self, wish: Wish) -> bool:
        """Another wish; whether anything differs in what it shows."""
        before, self._wish = self._wish, wish
        if before is None or wish.moment != before.moment or wish.moment is None:
            self._pieces.take()
        if before is None or wish.files != before.files:
            self._renew(wish)
        elif wish.words != before.words:
            self._filter = Filter(Matcher(wish.words)) if wish.words else None
            self._search = None
        if wish.find is not None and (before is None or wish.find != before.find):
            self._begin_search(wish)
        return wish != before

    def _renew(self, wish: Wish) -> None:
        known = self._pieces.names
        numbers = None if wish.files is None else [known.index(name) for name in wish.files if name in known]
        self._view = View(self._pieces, numbers)
        self._filter = Filter(Matcher(wish.words)) if wish.words else None
        self._search = None
        self._texts.clear()

    def _begin_search(self, wish: Wish) -> None:
        if wish.find is not None:
            words, position, way, _ = wish.find
            self._hit = None
            self._search = Search(self._errors if words is None else Matcher(words), position, way)

    def _open_hit(self, search: Search) -> int | None:
        """The next match among the lines that have not ended, which come last."""
        whole, opens = self._lines()
        order = range(len(opens)) if search.way > 0 else range(len(opens) - 1, -1, -1)
        for at in order:
            ahead = whole + at >= search.asked if search.way > 0 else whole + at <= search.asked
            if ahead and search.matcher.holds(self._line(opens[at]).text):
                return whole + at
        return None

    def _advance(self) -> bool:
        """Some milliseconds of work; whether there is more."""
        until = time.monotonic() + _TURN_S
        while self._work_on():
            if time.monotonic() >= until:
                return True
        return False

    def _work_on(self) -> bool:
        """One block: reading comes before filtering, and that before searching."""
        more = self._pieces.advance()
        if self._view.version != self._pieces.version and self._wish is not None:
            self._renew(self._wish)
        self._view.extend()
        if more:
            return True
        whole = self._whole()
        filtering = self._filter is not None and self._filter.advance(self._pieces, self._view, whole)
        return self._go_on_searching(whole) or filtering

    def _go_on_searching(self, whole: int) -> bool:
        """One chunk, once all is read, and filtered; whether there is more."""
        search, wish, filtered = self._search, self._wish, self._filter
        if search is None or wish is None or wish.find is None:
            return False
        if filtered is not None and filtered.done < whole and not filtered.is_full:
            return True
        found = None
        if search.position is None:
            search.position = self._base(search.asked, whole)
            found = self._open_hit(search) if search.way < 0 else None
        if found is None and search.advance(self._pieces, self._view, whole, filtered):
            return True
        if search.hit is not None:
            found = search.hit if filtered is None else filtered.below(search.hit)
        elif found is None and search.way > 0:
            found = self._open_hit(search)
        self._hit, self._search = Hit(wish.find[3], found), None
        return False

    def _base(self, position: int, whole: int) -> int:
        """The place in the view of a line that is shown; of one that has not ended, the one before or behind all."""
        shown = whole if self._filter is None else self._filter.below(whole)
        if position >= shown:
            return whole if self._search is not None and self._search.way > 0 else whole - 1
        return position if self._filter is None or position < 0 else self._filter.found[position]

    def _prefix(self) -> int:
        return self._pieces.prefix(self._wish.moment if self._wish is not None else None)

    def _whole(self) -> int:
        return self._view.whole(self._prefix())

    def _lines(self) -> tuple[int, list[Place]]:
        """How many lines are shown that have ended, and those that have not."""
        prefix = self._prefix()
        whole = self._view.whole(prefix)
        opens = self._pieces.opens(self._view.numbers, prefix)
        if self._filter is None:
            return whole, opens
        matcher = self._filter.matcher
        shown = [place for place in opens if matcher.holds(self._line(place).text)]
        return self._filter.below(whole), shown

    def _show(self) -> None:
        """Posts the window of the present wish."""
        wish = self._wish
        if wish is None:
            return
        whole, opens = self._lines()
        total = whole + len(opens)
        kept = self._kept(wish, whole, opens)
        begin = max(0, total - wish.most) if wish.begin is None else min(max(0, wish.begin), total)
        if kept is not None:
            begin = max(0, kept - wish.most // 2)
        places = [self._place(at) for at in range(begin, min(begin + wish.most, whole))]
        places += opens[max(0, begin - whole) : max(0, begin + wish.most - whole)]
        window = Window(wish, begin, self._read(places), total, self._names(), kept, self._hit, self._pieces.left,
                        self._share(), self._notes())  # fmt: skip
        self._post(window)

    def _post(self, window: Window) -> None:
        self._posted_at = time.monotonic()
        if window != self.window:
            self.window = window
            self._told()

    def _place(self, position: int) -> Place:
        return self._view.place(position if self._filter is None else self._filter.found[position])

    def _kept(self, wish: Wish, whole: int, opens: Sequence[Place]) -> int | None:
        """Where the line is that is to be kept."""
        if wish.keep is None or wish.keep[0] not in self._pieces.names:
            return None
        number = self._pieces.names.index(wish.keep[0])
        piece = self._pieces.piece_of(number, wish.keep[1])
        if piece is None:
            same = [at for at, place in enumerate(opens) if self._pieces.file[place.piece] == number]
            return whole + same[0] if same else max(0, whole - 1)
        base = self._view.position(piece, wish.keep[1])
        if self._filter is not None and self._filter.done <= base and not self._filter.is_full:
            return None
        found = base if self._filter is None else self._filter.below(base)
        return min(found, max(0, whole + len(opens) - 1))

    def _read(self, places: Sequence[Place]) -> tuple[Line, ...]:
        """Lines that follow each other in one piece are read together."""
        lines: list[Line] = []
        at = 0
        while at < len(places):
            end = at + 1
            while end < len(places) and places[end] == (places[at].piece, places[at].line + end - at, None):
                end += 1
            known = [self._texts.get((self._pieces.file[p.piece], p.line)) for p in places[at:end]]
            if places[at].stop is not None or None in known:
                lines += self._fresh(places[at], end - at)
            else:
                lines += [line for line in known if line is not None]
            at = end
        return tuple(lines)

    def _line(self, place: Place) -> Line:
        return self._fresh(place, 1)[0]

    def _fresh(self, place: Place, count: int) -> list[Line]:
        pieces, piece = self._pieces, place.piece
        number, is_open = pieces.file[piece], place.stop is not None
        stop = pieces.stop[piece] if place.stop is None else place.stop
        found: list[Line] = []
        for raw, size in pieces.indexes[number].lines(place.line, count, stop):
            text, more = line_of(raw), 0 if b"\r" in raw else max(0, size - LIMIT)
            is_error = self._errors.holds(text)
            at = place.line + len(found)
            line = Line(pieces.names[number], at, text, more, pieces.moments[piece], is_open, is_error)
            found.append(line)
            if not is_open:
                self._texts[number, at] = line
        while len(self._texts) > _KEPT:
            del self._texts[next(iter(self._texts))]
        gone = Line(pieces.names[number], place.line, "", 0, pieces.moments[piece], is_open, is_error=False)
        return found + [gone._replace(number=place.line + at) for at in range(len(found), count)]

    def _names(self) -> tuple[str, ...]:
        prefix = self._prefix()
        known = enumerate(self._pieces.names)
        return tuple(sorted(name for at, name in known if self._pieces.last_of(at, prefix) is not None))

    def _share(self) -> float | None:
        """Of the search, else of the filter."""
        whole = max(1, self._whole())
        if self._search is not None:
            at = (self._search.position or 0) / whole
            return min(1.0, max(0.0, at if self._search.way > 0 else 1 - at))
        if self._filter is not None and self._filter.done < whole and not self._filter.is_full:
            return self._filter.done / whole
        return None

    def _notes(self) -> tuple[str, ...]:
        names = self._pieces.names
        cut = [f"{names[at]} was cut off: what it held before is gone" for at in sorted(self._pieces.cut)]
        short = [f"{names[at]}: the file is shorter than what is on record of it" for at in sorted(self._pieces.short)]
        full = self._filter is not None and self._filter.is_full
        return (*cut, *short, *([f"only the first {MOST} lines that match are shown"] if full else ()))
