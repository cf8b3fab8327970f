"""The start screen: this machine's GPUs, its live runs, and those that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from grpotui.tui.panels.machine import MachineGpus, MachineHeader, RunDetails
from grpotui.tui.panels.run_list import MOST_SELECTED, RunList, sign
from grpotui.tui.screens.key_line import KeyLine
from grpotui.tui.screens.run import LEAST_HEIGHT, LEAST_WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from grpotui.tui.feed.machine import MachineFrame
    from grpotui.tui.feed.run_row import RunRow

_AGES_S: Final = 20.0
"""How often it is said anew how long ago something was, while nothing else changes."""
_LOW: Final = 30
"""Lower than this, GPUs and details have no frame."""
_TOO_SMALL: Final = (
    f"This terminal is too small: {LEAST_WIDTH} × {LEAST_HEIGHT} at least.\nWithout a dashboard: grpotui runs"
)


class HomeScreen(Screen[None]):
    """Shows what it is given; what is to be done with a run it asks the application for."""

    DEFAULT_CSS = """
    HomeScreen { layout: vertical; }
    HomeScreen #filter { height: 1; border: none; padding: 0 1; background: $panel; display: none; }
    HomeScreen.-filtering #filter { display: block; }
    HomeScreen #body { height: 1fr; }
    HomeScreen #small { display: none; height: 1fr; content-align: center middle; text-align: center; }
    HomeScreen.-small #small { display: block; }
    HomeScreen.-small #body { display: none; }
    HomeScreen.-small KeyLine, HomeScreen.-small MachineHeader { display: none; }
    HomeScreen.-low RunDetails { padding: 0 1; }
    HomeScreen.-low MachineGpus { padding: 0 1; }
    """
    BINDINGS: ClassVar = [
        Binding("enter", "open", "open", id="open"),
        Binding("slash", "filter", "filter", id="filter"),
        Binding("space", "select", "select", id="select"),
        Binding("o", "overlay", "overlay", id="overlay"),
        Binding("s", "stop", "stop", id="stop"),
        Binding("r,f5", "renew", "look again", show=False, id="renew"),
        Binding("escape", "clear", "clear filter and selection", show=False, id="clear"),
    ]

    class Open(Message):
        """A run is to be opened."""

        def __init__(self, row: RunRow) -> None:
            super().__init__()
            self.row = row

    class Overlay(Message):
        """Runs are to be laid over each other."""

        def __init__(self, rows: Sequence[RunRow]) -> None:
            super().__init__()
            self.rows = rows

    class Stop(Message):
        """A run is to be ended, after a question."""

        def __init__(self, row: RunRow) -> None:
            super().__init__()
            self.row = row

    class Renew(Message):
        """Everything is to be looked at again."""

    def __init__(self, frame: MachineFrame, host: str, profiles: Sequence[str], *, readonly: bool) -> None:
        super().__init__()
        self._frame, self._profiles, self._readonly = frame, profiles, readonly
        self._header, self._gpus = MachineHeader(host), MachineGpus()
        self.list, self._details = RunList(), RunDetails()

    def compose(self) -> ComposeResult:
        """GPUs above, the runs below them, and all of the one at the cursor."""
        yield self._header
        with Vertical(id="body"):
            yield self._gpus
            yield self.list
            yield self._details
        yield Input(placeholder="part of a name, a state, a verdict; Enter keeps it, Esc ends it", id="filter")
        yield Static(Content(_TOO_SMALL), id="small")
        yield KeyLine([b for b in self.BINDINGS if not (self._readonly and isinstance(b, Binding) and b.id == "stop")])

    def on_mount(self) -> None:
        """The list takes the keys."""
        self.list.focus()
        self.set_interval(_AGES_S, self.list.redraw)
        self._draw()  # the newest frame may have come before this, and no other follows while nothing changes

    def on_resize(self, event: events.Resize) -> None:
        """Frames only where there is room for them."""
        self.set_class(event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT, "-small")
        low = event.size.height < _LOW
        self.set_class(low, "-low")
        for panel in (self._gpus, self._details):
            panel.set_class(low, "-bare")
        self._arrange(event.size.height)

    def show(self, frame: MachineFrame) -> None:
        """A new frame."""
        self._frame = frame
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        with self.app.batch_update():
            self._header.show(self._frame)
            self._gpus.show(self._frame)
            self._show_runs()
            self._arrange(self.size.height)

    def bindings_by_page(self) -> list[tuple[str, list[Binding]]]:
        """For the help."""
        own = [("runs of this machine", self.BINDINGS), ("list", RunList.BINDINGS)]
        return [(name, [b for b in found if isinstance(b, Binding)]) for name, found in own]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What would change a run is not offered to who only looks."""
        return False if action == "stop" and self._readonly else super().check_action(action, parameters)

    def action_open(self) -> None:
        """The run at the cursor."""
        row = self.list.current
        if row is not None:
            self.post_message(self.Open(row))

    def on_run_list_opened(self) -> None:
        """By the mouse."""
        self.action_open()

    def on_run_list_moved(self) -> None:
        """All that is known of another run."""
        self._details.show(self.list.current)

    def action_select(self) -> None:
        """For the overlay."""
        if not self.list.toggle():
            self.notify(f"At most {MOST_SELECTED} runs can be laid over each other.", markup=False, timeout=3)

    def action_overlay(self) -> None:
        """The selected ones, and the one at the cursor where that is needed for two."""
        rows, current = self.list.selected, self.list.current
        if len(rows) == 1 and current is not None and current not in rows:
            rows = [*rows, current]
        if len(rows) < 2:
            self.notify("Select two to six runs with Space first.", markup=False, timeout=3)
            return
        self.post_message(self.Overlay(rows))

    def action_stop(self) -> None:
        """Asks the application, which asks the person."""
        row = self.list.current
        if row is not None and row.can_stop:
            self.post_message(self.Stop(row))
        elif row is not None:
            self.notify(_why_not(row), markup=False, timeout=4)

    def action_renew(self) -> None:
        """Whatever was known."""
        self.post_message(self.Renew())

    def action_filter(self) -> None:
        """A line to write into."""
        self.add_class("-filtering")
        self.query_one("#filter", Input).focus()

    def action_clear(self) -> None:
        """The filter first, then the selection."""
        if self.has_class("-filtering"):
            self.query_one("#filter", Input).value = ""
            self.remove_class("-filtering")
            self.list.focus()
        else:
            self.list.clear()

    def on_input_changed(self) -> None:
        """The list follows what is written."""
        self._show_runs()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Back to the list, which stays filtered."""
        if not event.value.strip():
            self.remove_class("-filtering")
        self.list.focus()

    def _show_runs(self) -> None:
        words = self.query_one("#filter", Input).value.lower().split()
        rows = [row for row in self._frame.runs if _fits(row, words)]
        title = "runs" if not words else f"runs with {' '.join(words)}: {len(rows)} of {len(self._frame.runs)}"
        self.list.show(rows, title, self._empty(filtered=bool(words)))
        self._details.show(self.list.current)
        self._details.display = self.list.current is not None

    def _empty(self, *, filtered: bool) -> list[str]:
        frame = self._frame
        if frame.problem is not None:
            return ["the runs cannot be listed:", frame.problem]
        if filtered and frame.runs:
            return ["no run fits; Esc ends the filter"]
        if frame.unread is None:
            return ["looking for runs…"]
        profiles = ", ".join(name for name in self._profiles if name != "demo")
        return [
            f"No runs under {frame.root} yet.",
            "",
            "grpotui launch demo            a tiny GRPO run of half a minute; no GPU needed",
            "grpotui launch profile.toml    your own; the README shows what is in it",
            "grpotui replay train.log       a log that you have already",
            *(["", f"Shipped profiles beside demo: {profiles}"] if profiles else []),
        ]

    def _arrange(self, high: int) -> None:
        """As many rows for the GPUs as they need, a quarter of the screen at most."""
        wanted = min(self._gpus.wanted(), max(1, high // 4))
        low = self.has_class("-low")
        self._gpus.styles.height = wanted if low else wanted + 2
        self._details.styles.height = 3 if low else 5


def _fits(row: RunRow, words: Sequence[str]) -> bool:
    text = f"{row.run} {sign(row)[1]} {row.state or ''} {row.framework or ''} {row.words}".lower()
    return all(word in text for word in words)


def _why_not(row: RunRow) -> str:
    if row.attached:
        return "This job was not started by grpotui, which does not end it."
    return "Out of reach from here." if row.is_live else "This run has ended."
