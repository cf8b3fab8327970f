"""A line to write a filter into, which is there only while it is written."""

from __future__ import annotations

from textual.message import Message
from textual.widgets import Input


class FilterLine(Input):
    """Tells every change; Enter keeps what is written, the page decides what Esc does."""

    DEFAULT_CSS = """
    FilterLine { dock: bottom; height: 1; border: none; padding: 0 1; display: none; background: $surface; }
    FilterLine:focus { border: none; }
    """

    class Written(Message):
        """The text is another."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """Enter."""

    def __init__(self) -> None:
        super().__init__(placeholder="part of a name; !part leaves it out; Enter keeps it, Esc takes it away")

    def open(self) -> None:
        """It is shown, and takes the keys."""
        self.display = True
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Every key."""
        event.stop()
        self.post_message(self.Written(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        self.display = False
        self.post_message(self.Left())
