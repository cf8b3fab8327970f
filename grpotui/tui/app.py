"""The application: themes, the keys that hold everywhere, and the way out. It knows feeds, never files."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.events import Resize
from textual.geometry import Size
from textual.message import Message

from grpotui.text import inert
from grpotui.tui import glyphs
from grpotui.tui.feed.live import LiveFeed
from grpotui.tui.job_control import JobControl
from grpotui.tui.no_colour import NoColour
from grpotui.tui.screens.dialogs import Choice, HelpScreen, Question, ending_question
from grpotui.tui.screens.run import RunScreen
from grpotui.tui.widgets.likes_filter import LikesFilter
from grpotui.watching import AGAIN_SECONDS
from grpotui_supervisor.errors import GrpotuiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from textual.filter import LineFilter
    from textual.screen import Screen

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.panels.asking import EndAsked, What

DARK: Final = "textual-dark"
LIGHT: Final = "textual-light"
_LOCAL: Final = frozenset({"picture", "screenshot", "suspend_process"})
_NO_COLOUR: Final = (NoColour(),)
_SIZE_S: Final = 0.5
_HINT = "Ctrl-C again within 2 s: {}. q leaves, and the run goes on."


@dataclass(frozen=True, slots=True)
class Rights:
    """What a person may do from here."""

    owner: bool = False
    """This is `launch`: leaving asks what becomes of the run."""
    control: bool = False
    """The run may be stopped from here."""
    local: bool = True
    """This is a person's own terminal: it may be suspended, and pictures of it be written into files."""


class NewFrame(Message):
    """The feed has something to show."""


class Dashboard(App[None]):
    """One source on the screen."""

    TITLE = "grpotui"
    CSS_PATH = "dashboard.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar = [
        Binding("q", "leave", "quit", id="quit"),
        Binding("question_mark,f1", "help", "help", key_display="?", id="help"),
        Binding("colon", "command_palette", "commands", key_display="ctrl+p", show=False, id="commands"),
        Binding("t", "theme", "dark or light", show=False, id="theme"),
        Binding("f8", "picture", "picture of the screen", show=False, id="picture"),
        Binding("ctrl+z", "suspend_process", "suspend; the run goes on", show=False, id="suspend"),
        Binding("ctrl+c", "pressed_control_c", "hint; twice: stop or leave", show=False, system=True, id="control-c"),
        Binding("ctrl+q", "leave", "quit", show=False, system=True, id="quit-too"),
    ]

    def __init__(self, feed: Feed, rights: Rights = Rights()) -> None:
        super().__init__()
        self.feed = feed
        self.rights = rights
        self.killed_by: int | None = None
        """The signal that asked this client to end."""
        self._pressed_at = float("-inf")
        self._likes = LikesFilter(glyphs.chosen(os.environ))
        self.theme = LIGHT if os.environ.get("GRPOTUI_THEME") == "light" else DARK

    def get_default_screen(self) -> Screen[Any]:
        """A run, or a log."""
        return RunScreen(self.feed, self.rights.control)

    def on_mount(self) -> None:
        """Reading begins when there is something to show it on."""
        if not self.is_headless:
            self._loop_handles(signal.SIGTERM)
            if not isinstance(self.feed, LiveFeed):  # which is told of it by its feed
                self._loop_handles(signal.SIGINT)
            if self._driver is not None and self.rights.local:
                JobControl(self._driver, lambda: self.refresh(layout=True))
                self.set_interval(_SIZE_S, self._look_at_size)
        self.feed.start(lambda: self.post_message(NewFrame()))

    def _look_at_size(self) -> None:
        """The kernel says that a terminal has another size before it has: who looks then may see the one before."""
        try:
            size = Size(*os.get_terminal_size(sys.__stdin__.fileno() if sys.__stdin__ is not None else 0))
        except (OSError, ValueError):  # no terminal any more
            return
        if size and size != self.size:
            self.post_message(Resize(size, size))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Under NO_COLOR no colour leaves this program, and what the terminal has no glyph for is drawn as its like."""
        colours = _NO_COLOUR if self.no_color else super().get_line_filters()
        return [*colours, *([self._likes] if self._likes.enabled else [])]

    @property
    def failure(self) -> Exception | None:
        """What the dashboard broke with."""
        return self._exception

    def on_new_frame(self, _: NewFrame) -> None:
        """Hands it to the screen; what went wrong with reading ends the dashboard, which says it then."""
        if self.feed.error is not None:
            self.broken(self.feed.error)
            return
        frame = self.feed.take()
        if self.run_screen is not None:
            self.run_screen.show(frame)
        if self._has_ended() and isinstance(self.screen, Question):
            self.screen.dismiss("cancel")  # what it asks about has ended
        if isinstance(self.feed, LiveFeed) and self.feed.interrupted.is_set():
            self.feed.interrupted.clear()
            self._signalled(self.feed)

    @property
    def run_screen(self) -> RunScreen | None:
        """The run that is open, whatever lies over it."""
        return next((screen for screen in self.screen_stack if isinstance(screen, RunScreen)), None)

    def broken(self, error: BaseException) -> None:  # noqa: ARG002  (who opened the dashboard raises it)
        """The source cannot be read."""
        self.exit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What belongs to a terminal is not offered elsewhere."""
        if not self.rights.local and action in _LOCAL:
            return False
        return super().check_action(action, parameters)

    def action_leave(self) -> None:
        """`launch` asks what becomes of the run; everybody else just leaves."""
        if self._asks():
            self._ask_what_becomes()
        else:
            self.exit()

    def action_pressed_control_c(self) -> None:
        """Never anything at once, but where a run has ended: a hint first."""
        again = time.monotonic() - self._pressed_at < AGAIN_SECONDS
        self._pressed_at = time.monotonic()
        if again or self._has_ended():
            self.action_leave()
        else:
            self.notify(_HINT.format("asks whether to stop it" if self._asks() else "leaves"), timeout=AGAIN_SECONDS)

    def action_help(self) -> None:
        """Every key that works here."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self._all_bindings()))

    def action_theme(self) -> None:
        """Dark to light and back."""
        self.theme = LIGHT if self.current_theme.dark else DARK

    def action_picture(self) -> None:
        """Writes the screen into a file."""
        self.action_screenshot()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette offers: pages, places, the run's end."""
        yield SystemCommand("Help", "Every key that works here", self.action_help)
        yield SystemCommand("Theme", "Dark to light and back", self.action_theme)
        if self.rights.local:
            yield SystemCommand("Picture", "Save this screen as an SVG file", self.action_picture)
        if isinstance(screen, RunScreen):
            yield from screen.commands()
        if self.rights.control and isinstance(self.feed, LiveFeed) and not self.feed.ended:
            yield SystemCommand("Stop the run…", "INT, then TERM, then KILL; asks first", self._ask_stop)
        yield SystemCommand("Quit", "Leave the dashboard; the run goes on", self.action_leave)

    def _fatal_error(self) -> None:
        """Textual's would print the values of all variables, in colours; who opened the dashboard raises it again."""
        self._close_messages_no_wait()

    def _asks(self) -> bool:
        return self.rights.owner and isinstance(self.feed, LiveFeed) and not self.feed.ended

    def _has_ended(self) -> bool:
        return isinstance(self.feed, LiveFeed) and self.feed.ended

    def _ask_what_becomes(self) -> None:
        question = Question(
            f"{inert(self.feed.title)} is still running.",
            (
                Choice("detach", "d", "Detach", "it goes on; grpotui attach comes back to it"),
                Choice("stop", "s", "Stop the run", "INT to its ranks, then TERM, then KILL"),
                Choice("cancel", "c", "Stay", "close this question"),
            ),
        )
        self.push_screen(question, self._decided)

    def _ask_stop(self) -> None:
        words = f"Stop {inert(self.feed.title)}? Its ranks get INT, then TERM, then KILL."
        choices = (
            Choice("cancel", "c", "No", "leave it alone"),
            Choice("stop", "s", "Stop the run", "all its processes"),
        )
        self.push_screen(Question(words, choices), self._decided)

    def on_end_asked(self, asked: EndAsked) -> None:
        """A page asks for the end of processes: the person is asked once more, by their names."""
        if self.rights.control and isinstance(self.feed, LiveFeed) and not self.feed.frame.over:
            self.push_screen(ending_question(asked), lambda choice: self._end(asked.what, choice))

    def _end(self, what: What, choice: str | None) -> None:
        feed = self.feed
        if choice != "end" or not isinstance(feed, LiveFeed):
            return
        ways = {"stop": feed.stop, "kill": lambda: feed.stop(now=True), "leftovers": feed.end_leftovers}
        self.run_worker(lambda: self._reach(ways[what]), thread=True, exit_on_error=False, name=what)

    def _decided(self, choice: str | None) -> None:
        if choice == "detach":
            self.exit()
        elif choice == "stop":
            self._end("stop", "end")

    def _reach(self, way: Callable[[], object]) -> None:
        """In a thread: the run may take its time to answer."""
        try:
            way()
        except (GrpotuiError, OSError) as error:
            self.call_from_thread(
                self.notify, inert(f"the run was not reached: {error}"), severity="error", markup=False
            )

    def _signalled(self, feed: LiveFeed) -> None:
        """SIGINT from elsewhere than this keyboard, or while the run was started: what it means without a dashboard."""
        if feed.ended or not self.rights.owner:
            self.exit()
            return
        again = time.monotonic() - self._pressed_at < AGAIN_SECONDS
        self._pressed_at = time.monotonic()
        self.run_worker(lambda: feed.interrupt(again=again), thread=True, exit_on_error=False, name="interrupt")

    def _all_bindings(self) -> list[tuple[str, list[Binding]]]:
        """By what they belong to."""
        told = [getattr(screen, "bindings_by_page", None) for screen in self.screen_stack]
        own: list[tuple[str, list[Binding]]] = next(
            (by_page() for by_page in reversed(told) if by_page is not None), []
        )
        return [*own, ("everywhere", [b for b in self.BINDINGS if isinstance(b, Binding)])]

    def _loop_handles(self, number: signal.Signals) -> None:
        """Leaves the terminal as it was before the signal takes its course."""
        import asyncio  # noqa: PLC0415  (Textual has loaded it)

        def leave() -> None:
            self.killed_by = number
            self.exit()

        asyncio.get_running_loop().add_signal_handler(number, leave)
