"""The pages, in the order of their keys. One more is one line here, and one file."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from grpotui.tui.panels.page import Page


class Entry(NamedTuple):
    """A page by its key; its code is loaded when it is looked at, since all of them together take 60 ms."""

    key: str
    name: str
    module: str
    kind: str

    def load(self) -> type[Page]:
        """The panel that fills the page."""
        found: type[Page] = getattr(import_module(f"grpotui.tui.panels.{self.module}"), self.kind)
        return found


PAGES: Final = (
    Entry("1", "overview", "overview", "Overview"),
    Entry("2", "ranks", "ranks", "Ranks"),
    Entry("3", "gpus", "gpus", "Gpus"),
    Entry("4", "metrics", "metrics", "Metrics"),
    Entry("5", "logs", "logs", "Logs"),
    Entry("6", "samples", "samples", "Samples"),
    Entry("7", "findings", "findings", "Findings"),
    Entry("8", "run", "run", "RunPage"),
)
