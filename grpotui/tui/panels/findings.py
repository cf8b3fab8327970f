"""Page 7: what rules saw and what went wrong: evidence, limit, next step, and the moment of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding

from grpotui.text import duration
from grpotui.tui.palette import severity
from grpotui.tui.panels.facts import Facts
from grpotui.tui.panels.listing import MOVES, Listing
from grpotui.tui.panels.table import Column, Table
from grpotui.tui.panels.went_wrong import Item, counts, items_of
from grpotui_supervisor import rules

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame

_COLUMNS: Final = (
    Column("", most=10),
    Column("what", most=28),
    Column("step", 3, right=True),
    Column("at", 2, right=True),
    Column("cleared", 4, right=True),
    Column("evidence", grows=True, least=20, most=400),
)
_LIVE: Final = (
    "This is live: its cursor is now, and cannot go back. Page 5 has the lines; "
    "grpotui replay RUN, once it has ended, goes to any moment."
)


class Findings(Listing):
    """A row each, the worst first; all of the chosen one below."""

    BINDINGS: ClassVar = [
        *MOVES,
        Binding("enter", "jump", "go there"),
        Binding("c", "copy", "copy the evidence", show=False),
    ]
    DEFAULT_CSS = "Findings Facts { height: 1fr; }"

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed, Table("findings", _COLUMNS))
        self._about = Facts("about it")
        self.items: list[Item] = []

    def compose(self) -> ComposeResult:
        """From above."""
        yield self.table
        yield self._about

    def show(self, frame: Frame) -> None:
        """The newest frame; what was chosen stays chosen where it still is there."""
        before = None if self.chosen is None else self.chosen.identity
        self.items = items_of(self.feed, frame)
        at = next((at for at, one in enumerate(self.items) if one.identity == before), self.table.chosen)
        self.table.expect(len(self.items), at)
        self.table.note = counts(self.items)
        self.table.fill(len(self.items), lambda at: _cells(self.items[at]), _none(frame))
        self._arrange()
        self._tell()

    def on_resize(self) -> None:
        """The room is another."""
        self._arrange()

    def _arrange(self) -> None:
        high, count = self.size.height, len(self.items)
        self.table.styles.height = min(count + 3, max(5, high // 2)) if count and high else "1fr"
        self._about.display = count > 0

    def on_table_chosen(self) -> None:
        """Another one."""
        self._tell()

    def on_table_opened(self) -> None:
        """A click on the chosen one."""
        self.action_jump()

    def _tell(self) -> None:
        item = self.chosen
        if item is not None:
            self._about.show(item.facts, title=item.name)

    @property
    def chosen(self) -> Item | None:
        """What is told of below the table."""
        return self.items[self.table.chosen] if self.table.chosen < len(self.items) else None

    def action_jump(self) -> None:
        """Sets the cursor to its moment; a live run has none."""
        item = self.chosen
        if item is None:
            return
        if self.feed.kind == "live":
            self.notify(_LIVE, markup=False, timeout=6)
        elif item.moment is None:
            self.notify("Its moment is not on record.", markup=False, timeout=3)
        elif self.feed.span() is None:
            self.notify("The cursor can be moved once all of it is read.", markup=False, timeout=3)
        else:
            self.feed.play(playing=False)
            self.feed.seek(item.moment)

    def action_copy(self) -> None:
        """Its name and evidence."""
        item = self.chosen
        if item is not None:
            self.copy(f"{item.name}: {item.evidence}")


def _cells(item: Item) -> tuple[Run, ...]:
    glyph, word, role = severity(item.severity)
    return (
        (f"{glyph} {word}", role),
        (item.name, "value"),
        ("" if item.step is None else str(item.step), "title"),
        ("" if item.offset_s is None else f"+{duration(item.offset_s)}", "label"),
        ("" if item.cleared_s is None else f"+{duration(item.cleared_s)}", "label"),
        (item.evidence, "title"),
    )


def _none(frame: Frame) -> tuple[str, ...]:
    """That nothing was raised says only what was watched for."""
    if frame.kind == "log":
        return ("No rule is applied to a bare log yet, and how its processes ended is not in it.",)
    watching = ", ".join(step.__module__.rpartition(".")[2] for _, step in rules.RULES)
    return (
        "Nothing was raised so far, no member ended badly, and nothing was left behind.",
        f"Rules that watched: {watching}. This is no verdict: what no rule looks for is seen by none.",
    )
