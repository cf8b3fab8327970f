"""Page 5: the logs of all ranks in the order in which they were written, or of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from grpotui.tui.lines.matching import Matcher
from grpotui.tui.lines.reading import LineReader
from grpotui.tui.lines.values import Wish
from grpotui.tui.panels.log_lines import member_of, spoken
from grpotui.tui.panels.log_view import LogView
from grpotui.tui.panels.page import Page
from grpotui.tui.panels.search import SearchLine

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.lines.values import Window

_ALL = "all ranks"


class NewLines(Message):
    """The thread that reads lines has some."""


class Logs(Page):
    """Lines, and what a person wants of them."""

    DEFAULT_CSS = """
    Logs { layers: base above; }
    Logs OptionList { display: none; layer: above; dock: right; width: 36; height: auto; max-height: 80%;
                      background: $surface; }
    Logs OptionList, Logs OptionList:focus { border: round $primary; }
    Logs OptionList.-open { display: block; }
    """
    BINDINGS: ClassVar = [
        Binding("slash", "ask('search')", "search", priority=True),
        Binding("f", "ask('filter')", "filter", priority=True),
        Binding("e", "error(1)", "error"),
        Binding("E", "error(-1)", "error before", show=False),
        Binding("n", "again(1)", "next hit", show=False),
        Binding("N", "again(-1)", "hit before", show=False),
        Binding("down,j", "move(1)", "next line", show=False),
        Binding("up,k", "move(-1)", "line before", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "a page on", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "a page back", show=False),
        Binding("g,home", "top", "first line", show=False),
        Binding("G,end", "bottom", "last line, and follow", show=False),
        Binding("right,l", "shift(1)", "to the right", show=False),
        Binding("left,h", "shift(-1)", "to the left", show=False),
        Binding("w", "wrap", "wrap long lines, or cut them", show=False),
        Binding("o", "choose", "choose a rank", show=False),
        Binding("tab", "next(1)", "next rank", show=False),
        Binding("shift+tab", "next(-1)", "rank before", show=False),
        Binding("enter", "here", "set the cursor to this line", show=False),
        Binding("c", "copy", "copy the line", show=False),
        Binding("escape", "back", "no filter, no search", show=False),
    ]

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed)
        self.can_focus = True
        self._has_cursor = feed.frame.moment is not None
        self.reader = self._new_reader()
        self.view = LogView(feed, self._wish)
        self._line = SearchLine(self, self._given)
        self._chosen = _ALL
        self._words = ""
        self._filter = ""
        self._keep: tuple[str, int] | None = None
        self._find: tuple[str | None, int, int, int] | None = None
        self._answered = 0
        self._moment: int | None = None

    def compose(self) -> ComposeResult:
        """Lines, the line to write in, the list of ranks over them."""
        yield self.view
        yield OptionList(id="ranks")
        yield self._line

    def on_unmount(self) -> None:
        """Its thread ends with it."""
        self.reader.close()

    def show(self, frame: Frame) -> None:
        """The newest frame: lines up to its cursor."""
        self._moment = frame.moment
        if frame.moment is not None and not self._has_cursor:
            self._has_cursor = True
            self.reader.close()
            self.reader = self._new_reader()
        self._wish()

    def _new_reader(self) -> LineReader:
        return LineReader(self.feed.growth(), lambda: self.post_message(NewLines()))

    def on_new_lines(self, _: NewLines) -> None:
        """Takes them from the thread."""
        window = self.reader.window
        if window is None:
            return
        if window.kept is not None and self._keep is not None and window.wish.keep == self._keep:
            self._keep = None
            self.view.take(window)
            self.view.centre(window.kept)
        else:
            self.view.take(window)
        if self._files() != window.wish.files:
            self._wish()
        self._answer(window)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What opens the line has priority, so that it takes the keys behind it, and is a letter in the line."""
        return not self._line.display if action == "ask" else super().check_action(action, parameters)

    def action_ask(self, kind: str) -> None:
        """Opens the line to write in."""
        self._line.ask(kind, self._words if kind == "search" else self._filter or self._words)

    def _given(self, kind: str, words: str) -> None:
        """Searches from the line on that is pointed at, or filters."""
        if kind == "filter":
            self._set_filter(words)
            return
        self._words = words
        self.view.matcher = Matcher(words) if words else None
        if words:
            self._search(words, 1, self.view.at)
        self.view.redraw()

    def action_again(self, way: int) -> None:
        """The next line with what was searched for last."""
        if self._words:
            self._search(self._words, way, self.view.at + way)
        else:
            self.view.say("nothing was searched for yet: / does")

    def action_error(self, way: int) -> None:
        """The next line that tells of a failure."""
        at = self.view.at if way > 0 and self.view.top == self.view.at == 0 else self.view.at + way
        self._search(None, way, at)

    def action_move(self, way: int) -> None:
        """One line."""
        self.view.go(self.view.at + way)

    def action_page(self, way: int) -> None:
        """One screen."""
        self.view.page(way)

    def action_top(self) -> None:
        """The first line."""
        self.view.go(0)

    def action_bottom(self) -> None:
        """The last one, and those that come."""
        self.view.go(self.view.total)

    def action_shift(self, way: int) -> None:
        """Along long lines."""
        self.view.shift(way)

    def action_wrap(self) -> None:
        """Long lines on several rows, or cut."""
        self.view.wrap = not self.view.wrap
        self.view.go(self.view.at)

    def action_back(self) -> None:
        """Takes away what is on top: the list, the filter, the search."""
        ranks = self.query_one(OptionList)
        if ranks.has_class("-open"):
            ranks.remove_class("-open")
            self.focus()
        elif self._filter:
            self._set_filter("")
        else:
            self._words, self.view.matcher, self.view.said = "", None, ""
            self.view.redraw()

    def action_copy(self) -> None:
        """The line, as far as it is shown, to the clipboard of the terminal."""
        line = self.view.line
        if line is not None:
            self.app.copy_to_clipboard(line.text)
            self.view.say("copied")

    def action_here(self) -> None:
        """The cursor goes to the moment of this line."""
        line = self.view.line
        if self.feed.kind == "live":
            self.view.say("this is live: the cursor is now")
        elif line is not None:
            self.feed.seek(line.moment)

    def action_choose(self) -> None:
        """A list of the logs."""
        ranks = self.query_one(OptionList)
        ranks.clear_options()
        choices = self._choices()
        ranks.add_options([Option(Content(_spoken(choice)), id=choice) for choice in choices])
        ranks.highlighted = choices.index(self._chosen) if self._chosen in choices else 0
        ranks.add_class("-open")
        ranks.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """That one."""
        event.stop()
        event.option_list.remove_class("-open")
        self.focus()
        if event.option_id is not None:
            self._choose(event.option_id)

    def action_next(self, way: int) -> None:
        """The next rank."""
        choices = self._choices()
        at = choices.index(self._chosen) if self._chosen in choices else 0
        self._choose(choices[(at + way) % len(choices)])

    def _choices(self) -> list[str]:
        """All, each member, and each stream of one that has two."""
        window = self.reader.window
        names = () if window is None else window.names
        members = sorted({member_of(name) for name in names}, key=lambda one: (not one.isdecimal(), len(one), one))
        found = [_ALL]
        for member in members:
            own = [name for name in names if member_of(name) == member]
            found += [member, *(own if len(own) > 1 else ())]
        return found

    def _choose(self, choice: str) -> None:
        self._chosen = choice
        self._stay()
        self.view.title = f"log · {_spoken(choice)}"
        self._wish()

    def _files(self) -> tuple[str, ...] | None:
        window = self.reader.window
        if self._chosen == _ALL or window is None:
            return None
        return tuple(name for name in window.names if self._chosen in (name, member_of(name)))

    def _set_filter(self, words: str) -> None:
        """The line that is pointed at stays, or the next one that matches."""
        self._filter = words
        self._stay()
        if words:
            self._words, self.view.matcher = words, Matcher(words)
        self._wish()

    def _stay(self) -> None:
        line = self.view.line
        self._keep = None if line is None or self.view.follows else (line.file, line.number)

    def _search(self, words: str | None, way: int, begin: int) -> None:
        self._find = (words, begin, way, self._find[3] + 1 if self._find is not None else 1)
        self._wish()

    def _answer(self, window: Window) -> None:
        """What became of the search."""
        hit, find = window.hit, self._find
        if hit is None or find is None or hit.number != find[3] or self._answered == hit.number:
            return
        self._answered = hit.number
        if hit.position is not None:
            self.view.centre(hit.position)
            return
        what = "no error" if find[0] is None else f"no {find[0]!r}"
        self.view.say(f"{what} {'below' if find[2] > 0 else 'above'} this line")

    def _wish(self) -> None:
        """Tells the thread what is shown, and a screen around it."""
        if not self.is_attached or (self._moment is None and self.feed.kind == "replay"):
            return
        high = self.view.high
        begin = None if self.view.follows else max(0, self.view.top - high)
        self.reader.ask(Wish(self._files(), self._filter, begin, 3 * high, self._moment, self._keep, self._find))


def _spoken(choice: str) -> str:
    if choice == _ALL:
        return choice
    return spoken(choice) if "/" in choice else (f"rank {choice}" if choice.isdecimal() else choice)
