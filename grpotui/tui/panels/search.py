"""The line in which a person writes what is searched for, or filtered by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, Static

from grpotui.text import inert
from grpotui.tui.lines.matching import Matcher
from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.widget import Widget

_HINTS = {"step": "the number of a step; nothing: all of them"}
_HINT = "text in any case unless it has capitals · !text: without it · re:expression"


class Field(Input):
    """Keys in the order in which they were typed, however fast: those behind its end are for the page again.

    A key goes to who has the focus when it comes, which is before the keys before it were looked at.
    """

    def __init__(self, submit: Callable[[str], object], close: Callable[[], object]) -> None:
        super().__init__()
        self._submit, self._close = submit, close
        self.is_over = True

    def on_key(self, event: Key) -> None:
        """Enter and Escape at once, and what comes behind them once more."""
        if self.is_over:
            self.app.post_message(Key(event.key, event.character))
        elif event.key == "enter":
            self._submit(self.value)
        elif event.key == "escape":
            self._close()
        else:
            return
        event.stop()
        event.prevent_default()


class SearchLine(Horizontal):
    """Hidden until it is asked for; says what is wrong with an expression."""

    DEFAULT_CSS = """
    SearchLine { height: 1; background: $panel; }
    SearchLine #asked { width: auto; padding: 0 1; text-style: bold; }
    SearchLine Input, SearchLine Input:focus { width: 2fr; height: 1; border: none; padding: 0; }
    SearchLine #hint { width: 3fr; height: 1; padding: 0 1; color: $text-muted; }
    SearchLine #hint.-wrong { color: $text-error; }
    """

    def __init__(self, owner: Widget, given: Callable[[str, str], object]) -> None:
        """`given` is called at once with what was asked for and the answer: keys typed after it are behind it.

        `owner` has the keys again then.
        """
        super().__init__()
        self.display = False
        self._owner, self._given = owner, given
        self._kind = "search"

    def compose(self) -> ComposeResult:
        """What is asked, the answer, and how to write it."""
        yield Static("", id="asked", markup=False)
        yield Field(self._submit, self._close)
        yield Static(_HINT, id="hint", markup=False)

    def ask(self, kind: str, words: str = "") -> None:
        """Opens it; `kind` is search or filter, `words` what was written last."""
        self._kind = kind
        self.query_one("#asked", Static).update(Content(f"{kind}:"))
        self._say(_HINTS.get(kind, _HINT), wrong=False)
        self.display = True
        field = self.query_one(Field)
        field.value, field.is_over = words, False
        field.action_select_all()
        self.screen.set_focus(field)  # at once: what is typed in one go with the key is for it

    def _close(self) -> None:
        """Nothing was asked."""
        self.display = False
        self.query_one(Field).is_over = True
        self.screen.set_focus(self._owner)

    def _submit(self, words: str) -> None:
        """Tells it, unless it cannot be searched for."""
        try:
            Matcher(words)
        except UsageError as error:
            self._say(str(error), wrong=True)
            return
        self._close()
        self._given(self._kind, words)

    def _say(self, text: str, *, wrong: bool) -> None:
        hint = self.query_one("#hint", Static)
        hint.set_class(wrong, "-wrong")
        hint.update(Content(inert(text)))
