"""Questions, the help, and where the cursor is to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from grpotui.text import inert
from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from grpotui.tui.panels.asking import EndAsked


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer."""

    name: str
    key: str
    word: str
    meaning: str


class Question(ModalScreen[str]):
    """One question; the first answer is the one that Enter gives, and Esc gives `cancel`."""

    BINDINGS: ClassVar = [Binding("escape,q", "answer('cancel')", "stay")]

    def __init__(self, words: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._words = words
        self._choices = {choice.name: choice for choice in choices}

    def compose(self) -> ComposeResult:
        """The words, and the answers below them."""
        with Vertical(classes="dialog"):
            yield Static(Content(self._words))
            yield OptionList(*(Option(_line(choice), id=choice.name) for choice in self._choices.values()))

    def on_mount(self) -> None:
        """The first answer is chosen."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        self.dismiss(event.option.id)

    def on_key(self, event: object) -> None:
        """Its letter answers too."""
        key = getattr(event, "key", "")
        for choice in self._choices.values():
            if key == choice.key:
                self.dismiss(choice.name)

    def action_answer(self, name: str) -> None:
        """Esc."""
        self.dismiss(name)


_ENDINGS: Final = {
    "stop": Choice("end", "s", "Stop the run", "all processes named above, and their children"),
    "kill": Choice("end", "k", "Kill the run", "at once; nothing is saved"),
    "leftovers": Choice("end", "x", "End them", "these processes, and no other"),
}


def ending_question(asked: EndAsked) -> Question:
    """Names what would be ended, by pid, rank and name; Enter leaves it alone."""
    words = "\n".join(inert(line) for line in (asked.words, "", *asked.processes))
    return Question(words, (Choice("cancel", "c", "No", "leave it alone"), _ENDINGS[asked.what]))


def _line(choice: Choice) -> Content:
    return Content.assemble(
        (f" {choice.key} ", "bold $text-primary"), (f" {choice.word:<14}", "bold"), f" {choice.meaning}"
    )


class HelpScreen(ModalScreen[None]):
    """Every key, made from the bindings themselves."""

    BINDINGS: ClassVar = [Binding("escape,q,question_mark,f1", "dismiss", "close")]

    def __init__(self, groups: Sequence[tuple[str, Sequence[Binding]]]) -> None:
        super().__init__()
        self._groups = groups

    def compose(self) -> ComposeResult:
        """A list that scrolls."""
        with VerticalScroll(classes="dialog"):
            yield Static(_help(self._groups))

    def on_mount(self) -> None:
        """Arrows scroll it."""
        self.query_one(VerticalScroll).focus()


def _help(groups: Sequence[tuple[str, Sequence[Binding]]]) -> Content:
    lines = [Content.styled("keys", "bold"), Content.styled("Esc closes this", "$text-muted")]
    for name, bindings in groups:
        if bindings:
            lines += [Content(""), Content.styled(name, "bold $text-primary")]
        lines += [Content.assemble((f"  {key_of(b):<14}", "bold"), b.description) for b in bindings]
    return Content("\n").join(lines)


_WRITTEN = {
    "question_mark": "?", "colon": ":", "slash": "/", "left_square_bracket": "[", "right_square_bracket": "]",
    "left_curly_bracket": "{", "right_curly_bracket": "}", "full_stop": ".", "comma": ",", "plus": "+", "minus": "-",
    "equals_sign": "=", "escape": "Esc", "enter": "Enter", "space": "Space", "left": "←", "right": "→", "up": "↑",
    "down": "↓", "home": "Home", "end": "End",
}  # fmt: skip


def key_of(binding: Binding) -> str:
    """The key as people write it."""
    if binding.key_display:
        return binding.key_display
    return " ".join(_WRITTEN.get(key.strip(), key.strip()) for key in binding.key.split(","))


class GotoScreen(ModalScreen[int]):
    """Asks for a place of the cursor, and says what is wrong with an answer."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss", "close")]

    def __init__(self, find: Callable[[str], int], *, has_times: bool) -> None:
        super().__init__()
        self._find = find
        self._examples = "a step: 120 · a share: 50%" + (" · seconds: +90 · a date and time" if has_times else "")

    def compose(self) -> ComposeResult:
        """One line to write into."""
        with Vertical(classes="dialog"):
            yield Static(Content.assemble(("Go to", "bold"), f"   {self._examples}"))
            yield Input(placeholder="step")
            yield Static("", id="problem", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Goes there, or says why not."""
        if not event.value.strip():
            self.dismiss(None)
            return
        try:
            self.dismiss(self._find(event.value))
        except UsageError as error:
            hint = f"; {error.hint}" if error.hint else ""
            self.query_one("#problem", Static).update(Content(inert(f"{error}{hint}")))
