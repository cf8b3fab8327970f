"""What a page is: a panel that fills the room between header and keys, and shows frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Container

if TYPE_CHECKING:
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame


class Page(Container):
    """Bindings of a page work while it is shown; those with `show=True` are in the line of keys.

    What it shows frames in is made when it is made: the first frame may come before its children are mounted.
    """

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.feed = feed

    CONTROLS: ClassVar[frozenset[str]] = frozenset()
    """Actions that change the run: they are hidden from whoever may not."""

    WRITES: ClassVar[frozenset[str]] = frozenset()
    """Actions that write a file of the person's: they are hidden from whoever looks from elsewhere."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What a person has no right to is not there."""
        if action in self.WRITES and not getattr(getattr(self.app, "rights", None), "local", True):
            return False
        if action in self.CONTROLS and not getattr(self.screen, "control", False):
            return False
        return super().check_action(action, parameters)

    def show(self, frame: Frame) -> None:
        """Shows the frame; called for the page that is in front, and when it comes to the front."""
        raise NotImplementedError

    def enter(self) -> None:
        """The page has come to the front: what takes its keys gets the focus."""
        self.focus()
