"""The last line: the pages, and the keys of the one in front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.binding import Binding
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from grpotui.tui.screens.dialogs import key_of
from grpotui.tui.screens.pages import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual import events

    from grpotui.tui.panels.page import Page

MOST: Final = 8
"""Keys beside the pages."""
_ALWAYS: Final = (("?", "help", "app.help"), ("q", "quit", "app.leave"))


class Keys(Static):
    """Drawn anew for another page, or another width."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  (Textual's word)
        super().__init__(id=id)
        self._name = ""
        self._page: Page | None = None

    def show(self, name: str, page: Page) -> None:
        """The page in front."""
        self._name, self._page = name, page
        self._draw(self.size.width or self.app.size.width)

    def on_resize(self, event: events.Resize) -> None:
        """What fits is another then."""
        self._draw(event.size.width)

    def _draw(self, width: int) -> None:
        left, right = next((both for both in self._shorter() if sum(map(_wide, both)) < width), (Content(), Content()))
        self.update(Content.assemble(left, " " * (width - _wide(left) - _wide(right)), right))

    def _shorter(self) -> Iterator[tuple[Content, Content]]:
        """The pages and the keys, shorter each time: names of pages first, then keys of the page in front."""
        keys = self._keys()
        for letters in (99, 4, 0):
            yield self._pages(letters), Content(" ").join(keys)
        while len(keys) > len(_ALWAYS):
            keys = keys[1:]
            yield self._pages(0), Content(" ").join(keys)

    def _pages(self, letters: int) -> Content:
        """All pages, each with so many letters of its name; the one in front keeps four."""
        return Content("").join(
            part(
                key,
                name[: max(letters, 4) if name == self._name else letters],
                f"screen.page('{name}')",
                front=name == self._name,
            )
            for key, name, *_ in PAGES
        )

    def _keys(self) -> list[Content]:
        shown = [] if self._page is None else list(_shown(self._page))
        own = [part(key_of(b), b.description, f"screen.on_page('{b.action}')") for b in shown[: MOST - len(_ALWAYS)]]
        opened = self.app.screen_stack[0] is not self.screen  # from the start screen, to which q leads back
        words = {"quit": "back"} if opened else {}
        return [*own, *(part(key, words.get(word, word), action) for key, word, action in _ALWAYS)]


def _shown(page: Page) -> Iterator[Binding]:
    """What a person has no right to is not there."""
    for binding in page.BINDINGS:
        if isinstance(binding, Binding) and binding.show and page.check_action(binding.action, ()) is not False:
            yield binding


def _wide(text: Content) -> int:
    return text.cell_length


def part(key: str, word: str, action: str, *, front: bool = False) -> Content:
    """A key and its word, which do what they say when they are clicked."""
    click = Style.from_meta({"@click": action})
    text = Content.assemble(
        (f" {key} ", "bold reverse" if front else "bold $text-primary"), (f"{word} ", "bold" if front else "")
    )
    return text.stylize(click)
