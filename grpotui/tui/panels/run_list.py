"""All runs as a list with a cursor: live ones first, the newest of the ended ones below."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.message import Message

from grpotui.text import duration, number
from grpotui.tui import border, cells
from grpotui.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.feed.run_row import RunRow

STATES: Final = {
    "starting": ("○", "info"), "running": ("●", "good"), "stopping": ("▼", "warning"), "draining": ("▼", "warning"),
    "unsupervised": ("▲", "warning"), "unreadable": ("?", "warning"), "passed": ("✔", "good"),
    "failed": ("✖", "critical"), "stopped": ("■", "warning"), "unknown": ("?", "warning"),
}  # fmt: skip
MOST_SELECTED: Final = 6
_STATE, _STEP, _REWARD, _TIME, _WHEN = 14, 9, 8, 9, 8
_FIXED: Final = _STATE + _STEP + _REWARD + _TIME + _WHEN + 10
"""Cells of a line beside its name and its words."""
_NAMES: Final = (18, 44)
_TAIL: Final = 5
"""Of a run's id: `-3f2a`."""
_WORDS: Final = 16
"""Fewer cells than these hold no sentence."""


def sign(row: RunRow) -> tuple[str, str, str]:
    """Glyph, word and role of how a run is: its state while it lives, its verdict once it has one."""
    word = row.state if row.is_live or row.verdict is None else row.verdict
    if word is None:
        return "?", "followed", "label"
    glyph, role = STATES.get(word, ("◇", "label"))
    return glyph, word, role


class RunList(Drawn, can_focus=True):
    """Draws what is in sight only, however many runs there are."""

    DEFAULT_CSS = "RunList { height: 1fr; width: 1fr; }"
    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", "run before", show=False),
        Binding("down,j", "move(1)", "next run", show=False),
        Binding("pageup", "page(-1)", "page up", key_display="PgUp", show=False),
        Binding("pagedown", "page(1)", "page down", key_display="PgDn", show=False),
        Binding("home,g", "end(-1)", "first run", show=False),
        Binding("end,G", "end(1)", "last run", show=False),
    ]

    class Opened(Message):
        """A run was chosen by a second click."""

    class Moved(Message):
        """The cursor is at another run, or nothing is left to be at."""

    def __init__(self) -> None:
        super().__init__()
        self._rows_shown: Sequence[RunRow] = ()
        self._empty: Sequence[str] = ("looking for runs…",)
        self._title = "runs"
        self._at = 0
        self._top = 0
        self._selected: list[str] = []

    def show(self, rows: Sequence[RunRow], title: str, empty: Sequence[str]) -> None:
        """The runs; the cursor stays at the one that it was at. `empty` stands there where there is none."""
        before = self.current
        self._rows_shown, self._title, self._empty = rows, title, empty
        paths = [row.path for row in rows]
        if before is not None and before.path in paths:
            self._at = paths.index(before.path)
        self._at = max(0, min(self._at, len(rows) - 1))
        self._selected = [path for path in self._selected if path in paths]
        self.redraw()
        if before != self.current:
            self.post_message(self.Moved())

    @property
    def current(self) -> RunRow | None:
        """The run at the cursor."""
        return self._rows_shown[self._at] if self._at < len(self._rows_shown) else None

    @property
    def selected(self) -> list[RunRow]:
        """In the order of their choice."""
        known = {row.path: row for row in self._rows_shown}
        return [known[path] for path in self._selected]

    def toggle(self) -> bool:
        """Selects the run at the cursor, or no longer; false where that would be too many."""
        row = self.current
        if row is None:
            return True
        if row.path in self._selected:
            self._selected.remove(row.path)
        elif len(self._selected) >= MOST_SELECTED:
            return False
        else:
            self._selected.append(row.path)
        self.action_move(1)
        self.redraw()
        return True

    def clear(self) -> bool:
        """Selects nothing; whether anything was."""
        had, self._selected = bool(self._selected), []
        self.redraw()
        return had

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """A frame, the names of the columns, and the runs around the cursor."""
        glyphs, wide, high = sheet
        inner, room = wide - 2, high - 3
        if not self._rows_shown or room < 1:
            lines = [[(f" {cells.cut(text, inner - 2)}", "label")] for text in ("", *self._empty)]
        else:
            self._top = min(max(self._top, self._at - room + 1), self._at, max(0, len(self._rows_shown) - room))
            self._top = max(0, self._top)
            now = time.time()
            shown = self._rows_shown[self._top : self._top + room]
            longest = max(cells.width(cells.cut(row.run, _NAMES[1])) for row in self._rows_shown)
            rooms = _room(inner - 3, longest)
            lines = [_head(rooms), *(self._line(row, rooms, inner, now) for row in shown)]
        side: Run = (glyphs.frame[5], "frame")
        body = [[side, *cells.padded(line, inner), side] for line in lines[: high - 2]]
        body += [[side, (" " * inner, "blank"), side] for _ in range(high - 2 - len(body))]
        picture = [border.top(glyphs, self._title, self._place(room), wide), *body, border.Foot(glyphs, wide).runs()]
        return _lit(picture) if self.has_focus else picture

    def _place(self, room: int) -> list[Run]:
        """Where the cursor is, where not all is in sight."""
        count = len(self._rows_shown)
        chosen: list[Run] = [(f"{len(self._selected)} selected  ", "info")] if self._selected else []
        return [*chosen, (f"{self._at + 1}/{count}", "label")] if count > room or chosen else []

    def _line(self, row: RunRow, rooms: tuple[int, int], wide: int, now: float) -> list[Run]:
        at = row == self.current
        mark = f"{self._selected.index(row.path) + 1}" if row.path in self._selected else " "
        runs = [("▸" if at else " ", "info"), (f"{mark} ", "info"), *columns(row, rooms, now)]
        return [(text, f"{role}+") for text, role in cells.padded(runs, wide)] if at else runs

    def action_move(self, count: int) -> None:
        """By runs."""
        self._go(self._at + count)

    def action_page(self, way: int) -> None:
        """By what is in sight."""
        self._go(self._at + way * max(1, self.size.height - 4))

    def action_end(self, way: int) -> None:
        """To the first or the last one."""
        self._go(0 if way < 0 else len(self._rows_shown) - 1)

    def _go(self, at: int) -> None:
        before = self._at
        self._at = max(0, min(at, len(self._rows_shown) - 1))
        if self._at != before:
            self.redraw()
            self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """The first one goes there, the second one opens."""
        at = self._top + int(event.y) - 2
        if not 0 <= int(event.y) - 2 < self.size.height - 3 or not 0 <= at < len(self._rows_shown):
            return
        if at == self._at and event.chain > 1:
            self.post_message(self.Opened())
        self._go(at)

    def on_mouse_scroll_down(self) -> None:
        """The wheel moves the cursor."""
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        """And back."""
        self.action_move(-1)

    def _focus_changed(self) -> None:
        self.redraw()

    on_focus = on_blur = _focus_changed


def _lit(picture: list[list[Run]]) -> list[list[Run]]:
    return [[(text, "frame_focus" if role == "frame" else role) for text, role in row] for row in picture]


def _room(wide: int, longest: int) -> tuple[int, int]:
    """Cells of the name, and of the words behind everything else; none where there is no room for a sentence."""
    rest, longest = wide - _FIXED, min(max(longest, 3), _NAMES[1])
    name = min(longest, max(rest - _WORDS - 2, _NAMES[0]))
    words = rest - name - 2
    return (name, words) if words >= _WORDS else (min(max(rest, 8), longest), 0)


def _head(rooms: tuple[int, int]) -> list[Run]:
    name, words = rooms
    text = f"   {'run':<{name}}  {'state':<{_STATE}}  {'step':>{_STEP}}  {'reward':>{_REWARD}}"
    text += f"  {'left/took':>{_TIME}}  {'last/ago':>{_WHEN}}" + ("  how it is" if words else "")
    return [(text, "label")]


def columns(row: RunRow, rooms: tuple[int, int], now: float) -> list[Run]:
    """The columns of a run, its name and its words in so many cells; `now` in Unix seconds."""
    name_cells, words = rooms
    glyph, word, role = sign(row)
    name = _short(row.run, name_cells)
    runs: list[Run] = [
        (name + " " * (name_cells - cells.width(name)), "value" if row.is_live else "title"),
        ("  ", "blank"),
        (f"{glyph} {cells.cut(word, _STATE - 2):<{_STATE - 2}}", role),
        (f"  {_step(row):>{_STEP}}", "title" if row.step is not None else "label"),
        (f"  {_reward(row):>{_REWARD}}", "title" if row.reward is not None else "label"),
        (f"  {_left(row):>{_TIME}}", "info" if row.is_live else "label"),
        (f"  {_when(row, now):>{_WHEN}}", "label"),
    ]
    return [*runs, ("  ", "blank"), *_words(row, words)] if words else runs


def _short(text: str, most: int) -> str:
    """Cut in its middle: the end tells runs of one name apart."""
    name = cells.cut(text, 200)
    if cells.width(name) <= most:
        return name
    tail = name[-_TAIL:] if most >= 3 * _TAIL and cells.width(name[-_TAIL:]) == _TAIL else ""
    return cells.cut(name, most - len(tail)) + tail


def _step(row: RunRow) -> str:
    if row.step is None:
        return "…" if row.logs is not None and row.logs.endswith("yet") else "-"
    return str(row.step) if not row.steps_total else f"{row.step}/{row.steps_total}"


def _reward(row: RunRow) -> str:
    return "-" if row.reward is None else number(row.reward[1])


def _left(row: RunRow) -> str:
    if row.is_live:
        return "-" if row.eta_s is None else duration(row.eta_s)
    return "-" if row.took_s is None else duration(row.took_s)


def _when(row: RunRow, now: float) -> str:
    if row.is_live:
        return "-" if row.line_age_s is None else duration(row.line_age_s)
    return "-" if row.began_t is None else f"{_ago(now - row.began_t)} ago"


def _ago(seconds: float) -> str:
    """In the one unit that tells it: 42s, 37m, 13h, 5d."""
    for name, unit in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= unit:
            return f"{seconds // unit:.0f}{name}"
    return f"{max(0.0, seconds):.0f}s"


def _words(row: RunRow, most: int) -> list[Run]:
    found = f"{row.findings} finding{'s' if row.findings > 1 else ''}" if row.findings else ""
    text = row.words.removeprefix(f"{row.verdict}: ") if row.verdict is not None else row.words
    if not found:
        return [(cells.cut(text, most), "label")]
    role = "critical" if row.critical else "warning"
    glyph = "✖" if row.critical else "▲"
    room = most - cells.width(found) - 4
    if room < _WORDS or not text:
        return [(f"{glyph} {cells.cut(found, most - 2)}", role)]
    return [(f"{glyph} {found}", role), ("  ", "blank"), (cells.cut(text, room), "label")]
