"""Logs that grow piece by piece, and what a page would show of them, computed the slow way."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from grpotui.tui.lines.growth import Grown
from grpotui.tui.lines.reading import LineReader
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from grpotui.tui.lines.values import Window, Wish


class Logs:
    """A growth: `write` appends to a log at a moment."""

    absent: str | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.history: list[tuple[int, str, bytes]] = []
        self._news: list[Grown] = []
        self._sizes: dict[str, int] = {}

    def path(self, name: str) -> str:
        return str(self.folder / f"{name.replace('/', '-')}.log")

    def write(self, moment: int, name: str, data: bytes) -> None:
        with open(self.path(name), "ab") as file:
            file.write(data)
        self.history.append((moment, name, data))
        self._sizes[name] = self._sizes.get(name, 0) + len(data)
        self._news.append(Grown(moment, name, self._sizes[name]))

    def truncate(self, moment: int, name: str) -> None:
        open(self.path(name), "wb").close()
        self._sizes[name] = 0
        self._news.append(Grown(moment, name, 0))

    def news(self) -> Iterator[Grown]:
        news, self._news = self._news, []
        yield from news

    def expected(self, moment: int | None, names: Iterable[str] | None = None) -> list[tuple[str, bytes]]:
        """(log, bytes of the line), in the order of their ends; those that have not ended last."""
        found, opens = [], dict[str, bytes]()
        for at, name, data in self.history:
            if (moment is not None and at > moment) or (names is not None and name not in names):
                continue
            *whole, rest = (opens.pop(name, b"") + data).split(b"\n")
            found += [(name, line) for line in whole]
            opens[name] = rest
        return found + [(name, rest) for name, rest in opens.items() if rest]


class Asking:
    """A reader of lines, and waiting for its answers."""

    def __init__(self, logs: Logs) -> None:
        self.told = threading.Event()
        self.reader = LineReader(logs, self.told.set)

    def ask(self, wish: Wish, until: Callable[[Window], object] = lambda _: True) -> Window:
        """The window of that wish, once all is read and searched."""
        self.reader.ask(wish)

        def there() -> Window | None:
            window = self.reader.window
            settled = window is not None and window.wish == wish and not window.left and window.searched is None
            return window if window is not None and settled and until(window) else None

        return wait_until(there)
