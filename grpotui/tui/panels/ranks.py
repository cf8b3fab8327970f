"""Page 2: every member of the run with all that the operating system said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.binding import Binding

from grpotui.leftover_text import process_words
from grpotui.text import duration, ending, member_name, size
from grpotui.tui import cells
from grpotui.tui.panels import asking
from grpotui.tui.panels.framed import Framed
from grpotui.tui.panels.last_lines import LastLines
from grpotui.tui.panels.listing import MOVES, Listing
from grpotui.tui.panels.members import sign
from grpotui.tui.panels.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.glyphs import Glyphs

_COLUMNS: Final = (
    Column("member", most=28),
    Column("host", 9, most=20),
    Column("pid", right=True),
    Column("state", most=44),
    Column("end", 2, most=30),
    Column("at", 5, right=True),
    Column("sent by grpotui", 4, most=24),
    Column("CPU", 7, right=True),
    Column("memory", 3, right=True),
    Column("GPU memory", 1, right=True),
    Column("last output", 2, right=True),
    Column("phase", 6, most=20),
)
_LEFT_ROWS: Final = 5
_ORDINALS: Final = {1: "st", 2: "nd", 3: "rd"}


class Ranks(Listing):
    """A table, what was left behind below it, and the chosen member's last lines."""

    BINDINGS: ClassVar = [
        *MOVES,
        Binding("c", "copy", "copy the line", show=False),
        Binding("T", "stop", "stop…"),
        Binding("K", "kill", "kill the whole run at once; asks first", show=False),
        Binding("X", "leftovers", "end the leftovers; asks first", show=False),
    ]
    CONTROLS: ClassVar = frozenset({"stop", "kill", "leftovers"})
    DEFAULT_CSS = """
    Ranks LastLines { height: 1fr; min-height: 4; }
    Ranks Leftovers { height: 3; display: none; }
    """

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed, Table("ranks", _COLUMNS))
        self._left, self._lines = Leftovers(), LastLines()
        self._frame: Frame | None = None

    def compose(self) -> ComposeResult:
        """From above."""
        yield self.table
        yield self._left
        yield self._lines

    def show(self, frame: Frame) -> None:
        """The newest frame."""
        self._frame = frame
        ranks, order = frame.document["ranks"], _order(frame.document)
        first = frame.document.get("first_failure")
        failed = None if first is None else first["member"]
        hosts = len({member["node"] for member in ranks}) > 1
        self.table.note = _counts(ranks)
        self.table.fill(len(ranks), lambda at: _cells(ranks[at], order, failed, hosts=hosts), _empty(frame))
        self._left.show(frame, control=getattr(self.screen, "control", False) and not frame.over)
        self._lines.display = bool(ranks)
        self._arrange()
        self._show_lines()

    def on_resize(self) -> None:
        """The room is another."""
        self._arrange()

    def _arrange(self) -> None:
        """The table has the rows that it fills, up to two thirds of the room; the last lines have the rest."""
        height = self.size.height
        rows = self.table.count + 3
        self.table.styles.height = min(rows, max(5, height * 2 // 3)) if self.table.count and height else "1fr"

    def on_table_chosen(self) -> None:
        """The lines of another member."""
        self._show_lines()

    def _show_lines(self) -> None:
        self._lines.update(self.feed, self._member())

    def _member(self) -> Mapping[str, Any] | None:
        ranks = () if self._frame is None else self._frame.document["ranks"]
        return ranks[self.table.chosen] if self.table.chosen < len(ranks) else None

    def action_copy(self) -> None:
        """Who it is, its pid, and how it is."""
        member = self._member()
        if member is not None:
            pid = "" if member["pid"] is None else f" pid {member['pid']}"
            self.copy(f"{member_name(member)}{pid} {ending(member)}")

    def action_stop(self) -> None:
        """The stop plan."""
        self._ask_end(now=False)

    def action_kill(self) -> None:
        """Without a plan."""
        self._ask_end(now=True)

    def action_leftovers(self) -> None:
        """What outlived its ranks."""
        if self._frame is not None:
            asked = asking.end_of_leftovers(self._frame.document, self.feed.facts())
            self._ask(asked, "Nothing was left behind.")

    def _ask_end(self, *, now: bool) -> None:
        if self._frame is not None:
            asked = asking.end_of_run(self._frame.document, self.feed.facts(), now=now)
            self._ask(asked, "No member of the run is alive.")

    def _ask(self, asked: asking.EndAsked | None, none: str) -> None:
        if asked is None:
            self.notify(none, markup=False, timeout=3)
        else:
            self.post_message(asked)


class Leftovers(Framed):
    """What outlived its ranks, and how it is ended."""

    title = "left behind"

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._hint = ""

    def show(self, frame: Frame, *, control: bool) -> None:
        """The newest frame; there is no room for nothing."""
        left = frame.document.get("leftovers") or ()
        self._lines = [process_words(one) for one in left]
        self.display = bool(left)
        self.styles.height = min(len(left), _LEFT_ROWS) + 2
        command = f"grpotui stop --leftovers {frame.document['run']}" if frame.kind == "live" else "as of the cursor"
        self._hint = "X ends them" if control else command
        self.redraw()

    def head(self, wide: int) -> list[Run]:
        """What ends them."""
        return [(cells.cut(self._hint, wide), "warning")]

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """A line each."""
        shown = self._lines[: high if len(self._lines) <= high else high - 1]
        more = len(self._lines) - len(shown)
        lines = [*shown, *([f"and {more} more"] if more else [])]
        return [[("▲ ", "warning"), (cells.cut(line, wide - 2, glyphs.cut), "title")] for line in lines]


def _empty(frame: Frame) -> tuple[str, ...]:
    if frame.kind == "log":
        return (
            "A log does not tell of processes: exits, signals and pids are not in it.",
            "grpotui launch records them; attach --log FILE --pid PID sees at least the end of the job.",
        )
    return ("Nothing of this run was started yet.",)


def _counts(ranks: Sequence[Mapping[str, Any]]) -> list[Run]:
    """How many are how: `8  ● 6 running  ✖ 2 failed`."""
    if not ranks:
        return []
    running = sum(1 for member in ranks if member["state"] in ("starting", "running"))
    failed = sum(1 for member in ranks if sign(member)[1] == "critical")
    ended = sum(1 for member in ranks if member["sent"])
    parts: list[Run] = [(str(len(ranks)), "label")]
    parts += [(f"  ● {running} running", "good")] if running else []
    parts += [(f"  ✖ {failed} failed", "critical")] if failed else []
    return parts + ([(f"  ■ {ended} ended by grpotui", "warning")] if ended else [])


def _order(document: Mapping[str, Any]) -> dict[str, tuple[int, float, float | None]]:
    """By member: its place among the ends, when that was, and how long after the first failure."""
    ended = sorted((m["ended_offset_s"], m["member"]) for m in document["ranks"] if m.get("ended_offset_s") is not None)
    first = document.get("first_failure")
    begin = None if first is None else next((at for at, key in ended if key == first["member"]), None)
    return {key: (place, at, None if begin is None else at - begin) for place, (at, key) in enumerate(ended, 1)}


def _cells(
    member: Mapping[str, Any], order: Mapping[str, tuple[int, float, float | None]], failed: str | None, *, hosts: bool
) -> tuple[Run, ...]:
    glyph, role = sign(member)
    place = order.get(member["member"])
    return (
        (member_name(member), "value"),
        (member["node"] if hosts else "", "label"),
        ("-" if member["pid"] is None else str(member["pid"]), "title"),
        (f"{glyph} {ending(member)}", role),
        _end(place, is_first_failure=member["member"] == failed),
        ("" if place is None else f"+{_span(place[1])}", "label"),
        (" ".join(name.removeprefix("SIG") for name in member["sent"]), "warning"),
        ("" if member["cpu_percent"] is None else f"{member['cpu_percent']:.0f} %", "title"),
        _memory(member),
        (_gpu(member), "title"),
        (_output(member), "label"),
        (member["phase"] or "", "info"),
    )


def _end(place: tuple[int, float, float | None] | None, *, is_first_failure: bool) -> Run:
    """`1st, first failure`, then `2nd, 10.0 s after it`."""
    if place is None:
        return ("", "label")
    number, _, after = place
    ordinal = f"{number}{_ORDINALS.get(number % 10, 'th') if number % 100 not in (11, 12, 13) else 'th'}"
    if is_first_failure:
        return (f"{ordinal}, first failure", "critical")
    if after is None:
        return (ordinal, "label")
    return (f"{ordinal}, {_span(abs(after))} {'before' if after < 0 else 'after'} it", "label")


def _span(seconds: float) -> str:
    """Short spans to the millisecond: which of two ends came first is told by that."""
    if seconds >= 60:
        return duration(seconds)
    return f"{seconds:.3g}s" if seconds >= 0.1 else f"{1000 * seconds:.0f}ms"


def _memory(member: Mapping[str, Any]) -> Run:
    """While it runs that of its tree, afterwards the most that it had itself."""
    if member["rss_bytes"] is not None:
        return (size(member["rss_bytes"]), "title")
    return ("" if member["max_rss_bytes"] is None else f"max {size(member['max_rss_bytes'])}", "label")


def _gpu(member: Mapping[str, Any]) -> str:
    if not member["gpus"]:
        return ""
    return (
        f"{size(member['gpu_bytes']) if member['gpu_bytes'] is not None else 'not told'} on {','.join(member['gpus'])}"
    )


def _output(member: Mapping[str, Any]) -> str:
    age = member["output_age_s"]
    if age is not None:
        return f"{duration(age)} ago"
    return "nothing yet" if member["owned"] else ""
