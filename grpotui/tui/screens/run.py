"""A run, or a log, on the screen: header, cursor, one page, the line of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from grpotui.text import inert
from grpotui.tui.feed.cursor import SPEEDS
from grpotui.tui.panels.header import Header
from grpotui.tui.panels.scrubber import Scrubber
from grpotui.tui.screens.dialogs import GotoScreen
from grpotui.tui.screens.keys import Keys
from grpotui.tui.screens.pages import PAGES
from grpotui.tui.widgets.chart import LineChart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from textual import events
    from textual.app import ComposeResult

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.panels.page import Page

LEAST_WIDTH, LEAST_HEIGHT = 60, 15
_FINDINGS = "findings"
_TOO_SMALL = f"This terminal is too small: {LEAST_WIDTH} × {LEAST_HEIGHT} at least.\nWithout a dashboard: --plain"


class RunScreen(Screen[None]):
    """Shows the newest frame, unless it is frozen."""

    BINDINGS: ClassVar = [
        *(Binding(key, f"page('{name}')", name, show=False, id=f"page-{name}") for key, name, *_ in PAGES),
        Binding("space", "pause", "freeze or play", key_display="Space", show=False, id="pause"),
        Binding("left_square_bracket", "step(-1)", "step back", show=False, id="step-back"),
        Binding("right_square_bracket", "step(1)", "step on", show=False, id="step-on"),
        Binding("left_curly_bracket", "mark(-1)", "to what happened before", show=False, id="mark-back"),
        Binding("right_curly_bracket", "mark(1)", "to what happened next", show=False, id="mark-on"),
        Binding("S,ctrl+g", "goto", "go to a step or time", show=False, id="goto"),
        Binding("comma", "speed(-1)", "slower", show=False, id="slower"),
        Binding("full_stop", "speed(1)", "faster", show=False, id="faster"),
        Binding("e", "finding(1)", "next finding", show=False, id="finding"),
        Binding("E", "finding(-1)", "finding before", show=False, id="finding-back"),
        Binding("r,f5", "refresh_all", "draw anew", show=False, id="refresh"),
    ]

    def __init__(self, feed: Feed, control: bool) -> None:
        super().__init__()
        self.feed = feed
        self.control = control
        self.frame: Frame = feed.frame
        self.frozen = False
        self.name_of_page = PAGES[0].name
        self._pages: dict[str, Page] = {}
        self._noticed: str | None = None

    def compose(self) -> ComposeResult:
        """The cursor's line is there for what has a cursor."""
        yield Header(self.feed.title, id="header")
        if self.feed.kind != "live":
            yield Scrubber(self.feed, id="scrubber")
        yield Container(id="pages")
        yield Keys(id="keys")
        yield Static(Content(_TOO_SMALL), id="too-small")

    async def on_mount(self) -> None:
        """The first page."""
        await self._open(self.name_of_page)

    def on_resize(self, event: events.Resize) -> None:
        """Too small to show anything is said, not drawn."""
        small = event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT
        self.set_class(small, "-too-small")

    @property
    def page(self) -> Page | None:
        """The one in front; None before the first is there."""
        return self._pages.get(self.name_of_page)

    def show(self, frame: Frame) -> None:
        """A new frame."""
        if self.frozen and not frame.over:
            self.query_one(Header).show(self.frame, frozen=True)
            return
        self.frozen = False
        self.frame = frame
        if frame.notice is not None and frame.notice != self._noticed:
            self._noticed = frame.notice
            self.notify(inert(frame.notice), markup=False, timeout=8)
        self._draw()

    def action_refresh_all(self) -> None:
        """Everything anew, whatever the terminal has made of it."""
        self._draw()
        self.refresh(repaint=True, layout=True)

    async def action_page(self, name: str) -> None:
        """Brings a page to the front."""
        if name != self.name_of_page:
            await self._open(name)

    def action_pause(self) -> None:
        """Live: what is shown stays, and reading goes on. With a cursor: it plays, or stops."""
        if self.feed.kind == "live":
            self.frozen = not self.frozen and not self.frame.over
            self.show(self.feed.frame)
        elif self.frame.play is not None:
            self.feed.play(playing=not self.frame.play.playing)

    def action_step(self, count: int) -> None:
        """By records."""
        self._stay()
        self.feed.step_by(count)

    def action_mark(self, way: int) -> None:
        """To the next thing that happened, or the one before."""
        self._to_mark(way, ("finding", "death", "end", "checkpoint", "validation", "restart", "gap"))

    async def action_finding(self, way: int) -> None:
        """To the next finding or death; live, to the page that lists them."""
        if self.feed.kind == "live":
            if any(page.name == _FINDINGS for page in PAGES):
                await self.action_page(_FINDINGS)
            return
        self._to_mark(way, ("finding", "death"))

    def action_speed(self, way: int) -> None:
        """Twice or half as fast."""
        play = self.frame.play
        if play is not None:
            at = SPEEDS.index(play.speed) + way
            self.feed.play(speed=SPEEDS[min(max(at, 0), len(SPEEDS) - 1)])

    def action_goto(self) -> None:
        """Asks where to."""
        if self.feed.kind == "live":
            self.notify("This is live: a finished run, or grpotui replay, has a cursor.", markup=False)
            return
        self._stay()
        self.app.push_screen(GotoScreen(self.feed.find, has_times=self.feed.kind == "replay"), self._go)

    def commands(self) -> Iterable[SystemCommand]:
        """For the palette."""
        for key, name, *_ in PAGES:
            yield SystemCommand(f"Page: {name}", f"key {key}", lambda name=name: self.run_action(f"page('{name}')"))
        if self.feed.kind != "live":
            yield SystemCommand("Go to…", "A step, a time, a share of the run", self.action_goto)
            yield SystemCommand("Play or stop", "key Space", self.action_pause)
        else:
            yield SystemCommand("Freeze or go on", "What is shown stays, reading goes on", self.action_pause)

    def bindings_by_page(self) -> list[tuple[str, list[Binding]]]:
        """For the help: those of each page, and those of all of them."""
        own = [(page.name, list(self._offered(page.load()))) for page in PAGES]
        own.append(("chart", [b for b in LineChart.BINDINGS if isinstance(b, Binding)]))
        return [*own, ("run", [b for b in self.BINDINGS if isinstance(b, Binding)])]

    def _offered(self, kind: type[Page]) -> Iterator[Binding]:
        for binding in kind.BINDINGS:
            if isinstance(binding, Binding) and (self.control or binding.action not in kind.CONTROLS):
                yield binding

    def _draw(self) -> None:
        if not self.query(Header):
            return
        with self.app.batch_update():
            self.query_one(Header).show(self.frame, frozen=self.frozen)
            for scrubber in self.query(Scrubber):
                scrubber.show(self.frame)
            if self.page is not None and not self.frame.is_empty:
                self.page.show(self.frame)

    async def _open(self, name: str) -> None:
        if self.page is not None:
            self.page.display = False
        self.name_of_page = name
        if self.page is None:
            kind = next(page for page in PAGES if page.name == name).load()
            self._pages[name] = kind(self.feed)
            await self.query_one("#pages").mount(self._pages[name])
        page = self._pages[name]
        page.display = True
        page.enter()
        self.query_one(Keys).show(name, page)
        self._draw()

    def _to_mark(self, way: int, kinds: tuple[str, ...]) -> None:
        here = self.frame.moment
        if here is None or self.feed.kind == "live":
            return
        places = [mark for mark in self.feed.marks() if mark.kind in kinds]
        ahead = [mark for mark in places if (mark.at > here if way > 0 else mark.at < here)]
        if not ahead:
            self.notify("Nothing more happened that way.", markup=False, timeout=2)
            return
        mark = ahead[0] if way > 0 else ahead[-1]
        self._stay()
        self.feed.seek(mark.at)
        self.notify(inert(mark.words), markup=False, timeout=4)

    def _go(self, at: int | None) -> None:
        if at is not None:
            self.feed.seek(at)

    def _stay(self) -> None:
        if self.frame.play is not None and self.frame.play.playing:
            self.feed.play(playing=False)

    def check_action(self, action: str, parameters: tuple[Any, ...]) -> bool | None:
        """What has no sense for a live run is not offered."""
        if self.feed.kind == "live" and action in ("step", "mark", "speed"):
            return False
        return super().check_action(action, parameters)
