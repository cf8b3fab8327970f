"""The dashboard of a machine: the start screen, from which runs are opened and to which one comes back."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.message import Message

from grpotui.text import inert
from grpotui.tui.app import Dashboard, NewFrame, Rights
from grpotui.tui.feed.feed import Feed
from grpotui.tui.feed.live import LiveFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.tui.screens.dialogs import Choice, Question
from grpotui.tui.screens.home import HomeScreen
from grpotui.tui.screens.overlay import OverlayScreen
from grpotui.tui.screens.run import RunScreen
from grpotui.watching import Interrupts
from grpotui_supervisor import profiles, supervisors
from grpotui_supervisor.errors import GrpotuiError
from grpotui_supervisor.rundir import RunDirectory

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

    from grpotui.tui.feed.frame import Kind
    from grpotui.tui.feed.machine import Machine
    from grpotui.tui.feed.run_row import RunRow


class _NoFeed(Feed):
    """No run is open."""

    kind: ClassVar[Kind] = "log"
    title = ""

    def start(self, told: Callable[[], object]) -> None:
        """There is nothing to read."""


class NewMachine(Message):
    """There is something new of the machine."""


class AllRuns(Dashboard):
    """At most one run is open, or one overlay."""

    BINDINGS: ClassVar = [Binding("escape", "close", "back to all runs", show=False, id="back")]

    def __init__(self, machine: Machine, rights: Rights) -> None:
        """`rights` for every run that is opened."""
        super().__init__(_NoFeed(), rights)
        self.machine = machine
        self._granted = rights
        self._interrupts: Interrupts | None = None

    def get_default_screen(self) -> Screen[Any]:
        """All runs."""
        known = list(profiles.shipped_profiles())
        return HomeScreen(self.machine.frame, socket.gethostname(), known, readonly=not self._granted.control)

    def on_mount(self) -> None:
        """Looking begins when there is something to show it on; a signal from elsewhere ends it."""
        if not self.is_headless:
            self._loop_handles(signal.SIGINT)
        self.machine.start(lambda: self.post_message(NewMachine()))

    @property
    def home(self) -> HomeScreen:
        """The screen that all the others lie on."""
        found = self.screen_stack[0]
        assert isinstance(found, HomeScreen)  # noqa: S101  (it is made above)
        return found

    def on_new_machine(self) -> None:
        """Shown also where a run lies over it: it is there when one comes back."""
        if self.machine.error is not None:
            self.exit()
            return
        self.home.show(self.machine.take())

    def action_leave(self) -> None:
        """From a run to all of them; from there out."""
        if self.screen is self.home:
            self.exit()
        else:
            self.action_close()

    def action_close(self) -> None:
        """Closes what is open."""
        while len(self.screen_stack) > 1:
            self.pop_screen()
        feed, self.feed, self.rights = self.feed, _NoFeed(), self._granted
        self.run_worker(feed.close, thread=True, exit_on_error=False, name="close")

    def broken(self, error: BaseException) -> None:
        """A run that cannot be read leaves the others alone."""
        self.action_close()
        hint = f"; {error.hint}" if isinstance(error, GrpotuiError) and error.hint else ""
        self.notify(inert(f"{str(error) or type(error).__name__}{hint}"), severity="error", markup=False, timeout=10)

    def on_home_screen_open(self, event: HomeScreen.Open) -> None:
        """A live run is followed, another one replayed from its end."""
        feed = self._feed_of(event.row)
        if feed is None:
            return
        control = self._granted.control and not event.row.attached
        self.feed, self.rights = feed, Rights(control=control, local=self._granted.local)
        self.push_screen(RunScreen(feed, control))
        feed.start(lambda: self.post_message(NewFrame()))

    def on_home_screen_overlay(self, event: HomeScreen.Overlay) -> None:
        """Each of them has a feed of its own."""
        feeds = [self._feed_of(row) for row in event.rows]
        opened = [feed for feed in feeds if feed is not None]
        if len(opened) == len(feeds):
            self.push_screen(OverlayScreen(opened))
            return
        for feed in opened:
            feed.close()

    def on_home_screen_renew(self) -> None:
        """Everything anew."""
        self.machine.refresh()

    def on_home_screen_stop(self, event: HomeScreen.Stop) -> None:
        """Names what would end."""
        row = event.row
        words = f"Stop {inert(row.run)}? Its {row.ranks} ranks get INT, then TERM, then KILL."
        choices = (
            Choice("cancel", "c", "No", "leave it alone"),
            Choice("stop", "s", "Stop the run", "all its processes"),
        )

        def decided(choice: str | None) -> None:
            if choice == "stop":
                self.run_worker(lambda: self._stop(row), thread=True, exit_on_error=False, name="stop")

        self.push_screen(Question(words, choices), decided)

    def _stop(self, row: RunRow) -> None:
        """In a thread: the request is written, or the reason said why it could not be."""
        try:
            supervisors.ask(RunDirectory(row.path), "stop", why="the start screen")
            words, severity = f"{row.run}: stopping", "information"
        except (GrpotuiError, OSError) as error:
            words, severity = f"{row.run} was not reached: {error}", "error"
        self.call_from_thread(self.notify, inert(words), severity=severity, markup=False)

    def _feed_of(self, row: RunRow) -> Feed | None:
        """None where it cannot be opened, which is said."""
        directory = RunDirectory(row.path)
        try:
            if row.is_live:
                self._interrupts = self._interrupts or Interrupts()
                return LiveFeed(directory, self._interrupts)
            return ReplayFeed(directory, None)
        except (GrpotuiError, OSError) as error:
            hint = f"; {error.hint}" if isinstance(error, GrpotuiError) and error.hint else ""
            self.notify(inert(f"{error}{hint}"), severity="error", markup=False, timeout=10)
            return None
