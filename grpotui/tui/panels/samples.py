"""Page 6: what the model answered, one answer at a time, with its rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message

from grpotui.tui.answers.reading import AnswerReader
from grpotui.tui.answers.store import Criteria
from grpotui.tui.answers.values import Wish
from grpotui.tui.lines.matching import Matcher
from grpotui.tui.panels.answer_view import BESIDE, AnswerView, GroupView
from grpotui.tui.panels.page import Page
from grpotui.tui.panels.search import SearchLine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame


class NewAnswers(Message):
    """The thread that reads samples has something else to show."""


class Samples(Page):
    """One sample, and the others of its group."""

    DEFAULT_CSS = """
    Samples #both { layout: horizontal; height: 1fr; }
    Samples AnswerView { width: 1fr; }
    Samples GroupView { width: 42; }
    Samples.-narrow GroupView, Samples.-empty GroupView { display: none; }
    """
    BINDINGS: ClassVar = [
        Binding("slash", "ask('search')", "search", priority=True),
        Binding("f", "only('failed')", "failed"),
        Binding("s", "ask('step')", "step", priority=True),
        Binding("u", "only('truncated')", "only those that were cut off, or all", show=False),
        Binding("n", "again(1)", "next hit", show=False),
        Binding("N", "again(-1)", "hit before", show=False),
        Binding("down,j", "move(1)", "next answer", show=False),
        Binding("up,k", "move(-1)", "answer before", show=False),
        Binding("right,l", "group(1)", "next prompt", show=False),
        Binding("left,h", "group(-1)", "prompt before", show=False),
        Binding("pagedown,ctrl+f", "scroll(1)", "on in a long text", show=False),
        Binding("pageup,ctrl+b", "scroll(-1)", "back in a long text", show=False),
        Binding("g,home", "end(0)", "first answer", show=False),
        Binding("G,end", "end(-1)", "last answer", show=False),
        Binding("c", "copy", "copy the answer", show=False),
        Binding("escape", "back", "all samples, no search", show=False),
    ]

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed)
        self.can_focus = True
        self.reader = AnswerReader(feed.samples, lambda: self.post_message(NewAnswers()))
        self.view, self.others = AnswerView(), GroupView()
        self._line = SearchLine(self, self._given)
        self._criteria = Criteria()
        self._words = ""
        self._at: int | None = None
        self._find: tuple[str, int, int] | None = None
        self._answered = 0
        self._jump: int | None = None
        self._state: object = None
        self._document: Mapping[str, Any] = {}

    def compose(self) -> ComposeResult:
        """Sample and group side by side, the line to write in below."""
        with Horizontal(id="both"):
            yield self.view
            yield self.others
        yield self._line

    def on_unmount(self) -> None:
        """Its thread ends with it."""
        self.reader.close()

    def on_resize(self, event: events.Resize) -> None:
        """The group has a panel where there is room."""
        self.view.has_list = event.size.width >= BESIDE
        self.set_class(not self.view.has_list, "-narrow")
        self.view.redraw()

    def show(self, frame: Frame) -> None:
        """The newest frame: there may be more samples, or fewer."""
        self._document = frame.document
        if frame.kind == "log":
            whole = frame.moment is None or self.feed.span() is None or frame.moment >= self.feed.span()[1]  # type: ignore[index]
            self._criteria = self._criteria._replace(until=None if whole else frame.document["step"] or 0)
            self._state = frame.reading is None and frame.moment is not None
        else:
            self._state = (frame.document["step"], frame.rows, frame.over)
        if self._state is not False:
            self._wish()

    def on_new_answers(self, _: NewAnswers) -> None:
        """Takes them from the thread."""
        shown, find = self.reader.shown, self._find
        if shown is None:
            return
        self.view.filters = self._filters()
        self.view.show(shown, self._document)
        self.others.show(shown)
        self.set_class(not shown.chosen, "-empty")
        if find is not None and shown.hit is not None and shown.hit.search == find[2] != self._answered:
            self._answered = find[2]
            if shown.hit.number is None:
                self.view.say(f"no {find[0]!r} {'behind' if find[1] > 0 else 'before'} this answer")
            else:
                self._jump = shown.hit.number
                self._go(self._jump)
        if self._jump is not None and shown.chosen and shown.chosen[shown.at] == self._jump:
            self._jump = None
            self.view.to_hit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What opens the line has priority, so that it takes the keys behind it, and is a letter in the line."""
        return not self._line.display if action == "ask" else super().check_action(action, parameters)

    def action_ask(self, kind: str) -> None:
        """Opens the line to write in."""
        step = "" if self._criteria.step is None else str(self._criteria.step)
        self._line.ask(kind, self._words if kind == "search" else step)

    def _given(self, kind: str, words: str) -> None:
        """Searches on from this answer, or shows one step only."""
        if kind == "step":
            self._of_step(words.strip())
            return
        self._words = words
        self.view.matcher = Matcher(words) if words else None
        shown = self.reader.shown
        if self.view.matcher is None or shown is None or shown.sample is None:
            self.view.redraw()
        elif self.view.matcher.holds(f"{shown.sample.prompt}\n{shown.sample.answer}"):
            self.view.to_hit()
        else:
            self._search(1)

    def action_again(self, way: int) -> None:
        """The next answer with what was searched for last."""
        if self._words:
            self._search(way)
        else:
            self.view.say("nothing was searched for yet: / does")

    def action_only(self, what: str) -> None:
        """Only those, or all again."""
        shown = self.reader.shown
        if what == "truncated" and shown is not None and shown.total and not shown.knows_ends:
            self.view.say("where these come from it is not told which answers were cut off")
            return
        self._choose(self._criteria._replace(**{what: not getattr(self._criteria, what)}))

    def action_move(self, way: int) -> None:
        """One answer on."""
        shown = self.reader.shown
        if shown is not None and shown.chosen:
            self._to(self._here() + way)

    def action_group(self, way: int) -> None:
        """The first answer to another prompt."""
        shown = self.reader.shown
        if shown is None or not shown.chosen:
            return
        at, own = self._here(), {one for one, _ in shown.group}
        while 0 <= at < len(shown.chosen) and shown.chosen[at] in own:
            at += way
        self._to(at)

    def action_end(self, at: int) -> None:
        """The first, or the last."""
        shown = self.reader.shown
        if shown is not None and shown.chosen:
            self._to(at if at >= 0 else len(shown.chosen) - 1)

    def action_scroll(self, way: int) -> None:
        """In a long text."""
        self.view.scroll(way)

    def action_copy(self) -> None:
        """To the clipboard of the terminal."""
        shown = self.reader.shown
        if shown is not None and shown.sample is not None:
            self.app.copy_to_clipboard(shown.sample.answer)
            self.view.say("the answer is copied")

    def action_back(self) -> None:
        """No choice, then no search."""
        if self._filters():
            self._choose(Criteria(until=self._criteria.until))
        else:
            self._words, self.view.matcher = "", None
            self.view.say("")

    def _here(self) -> int:
        """Which of the chosen is meant to be shown, be it shown yet or not."""
        shown = self.reader.shown
        if shown is None:
            return 0
        try:
            return shown.at if self._at is None else shown.chosen.index(self._at)
        except ValueError:
            return shown.at

    def _to(self, at: int) -> None:
        shown = self.reader.shown
        if shown is not None:
            self._go(shown.chosen[min(max(0, at), len(shown.chosen) - 1)])

    def _go(self, number: int) -> None:
        self._at = number
        self.view.said = ""
        self._wish()

    def _of_step(self, words: str) -> None:
        if words and not words.isdecimal():
            self.view.say(f"{words!r} is no step: a number, or nothing for all")
            return
        self._choose(self._criteria._replace(step=int(words) if words else None))

    def _choose(self, criteria: Criteria) -> None:
        shown = self.reader.shown
        if self._at is None and shown is not None and shown.chosen:
            self._at = shown.chosen[shown.at]
        self._criteria = criteria
        self.view.said = ""
        self._wish()

    def _filters(self) -> str:
        by = self._criteria
        words = [f"step {by.step}"] if by.step is not None else []
        words += ["without a reward above 0"] if by.failed else []
        words += ["cut off"] if by.truncated else []
        return ", ".join(words)

    def _search(self, way: int) -> None:
        self._find = (self._words, way, self._find[2] + 1 if self._find is not None else 1)
        self.view.said = ""
        self._wish()

    def _wish(self) -> None:
        if self._state is not None:
            self.reader.ask(Wish(self._state, self._criteria, self._at, self._find))
