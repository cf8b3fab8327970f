"""Metrics that a person has pinned to page 1, by framework: `pins.json` in the state root, which every run shares.

A file that cannot be read is said and passed over; it is moved aside before another is written in its place.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor import rundir
from grpotui_supervisor.errors import GrpotuiError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = "pins.json"
_SCHEMA: Final = 1
MOST: Final = 12
"""Of one framework: more charts than that are no overview."""
_ANY: Final = "any"


class Pins:
    """What is pinned, as of the last look at the file.

    Attributes:
        path: the file; it need not be there.
        problem: why it could not be read or written, in words; None where it could.
    """

    def __init__(self, root: str) -> None:
        """`root` is the state root; nothing is written before the first pin."""
        self.path = os.path.join(root, FILE)
        self.problem: str | None = None
        self._pins: dict[str, tuple[str, ...]] = {}
        self._seen: tuple[int, int] | None = None
        self._bad = False
        self.reload()

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Pins:
        """Those of the user.

        Raises:
            UsageError: the user has no state root.
        """
        return cls(rundir.root(environment))

    def pinned(self, framework: str | None) -> tuple[str, ...]:
        """Names as `Feed.curve` takes them, in the order of their pinning."""
        return self._pins.get(framework or _ANY, ())

    def toggle(self, framework: str | None, name: str) -> bool:
        """Pins a metric, or takes the pin away; returns whether it is pinned now. `problem` says what went wrong."""
        self.reload()
        pinned = self.pinned(framework)
        if name in pinned:
            kept = tuple(one for one in pinned if one != name)
        elif len(pinned) >= MOST:
            self.problem = f"{MOST} metrics are pinned already: take a pin away first"
            return False
        else:
            kept = (*pinned, name)
        self._pins[framework or _ANY] = kept
        self._write()
        return name in kept

    def reload(self) -> bool:
        """Looks at the file again, if it is another; returns whether it was."""
        try:
            found = os.stat(self.path)
        except OSError:
            seen = None
        else:
            seen = (found.st_mtime_ns, found.st_ino)
        if seen == self._seen:
            return False
        self._seen, self.problem, self._bad = seen, None, False
        self._pins = {} if seen is None else self._read()
        return True

    def _read(self) -> dict[str, tuple[str, ...]]:
        try:
            with open(self.path, encoding="utf-8") as file:
                document = json.load(file)
            return _of_document(document)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._bad = True
            self.problem = f"{self.path} is not used: {_reason(error)}"
            return {}

    def _write(self) -> None:
        """By rename, so that another dashboard never reads half of it."""
        document = {"schema": _SCHEMA, "pins": {key: list(names) for key, names in self._pins.items() if names}}
        draft = f"{self.path}.{os.getpid()}.tmp"
        try:
            rundir.make_root(os.path.dirname(self.path))
            if self._bad:
                os.replace(self.path, f"{self.path}.bad")
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump(document, file)
            os.replace(draft, self.path)
        except (OSError, GrpotuiError) as error:
            self.problem = f"the pins are kept for this session only: {_reason(error)}"
            return
        found = os.stat(self.path)
        self._seen, self._bad, self.problem = (found.st_mtime_ns, found.st_ino), False, None


def _of_document(document: Any) -> dict[str, tuple[str, ...]]:  # noqa: ANN401  (whatever the file holds)
    if document["schema"] > _SCHEMA:
        raise ValueError("a newer grpotui wrote it")
    return {str(key): _names(names) for key, names in document["pins"].items()}


def _names(names: object) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("the names of metrics are no list of texts")
    return tuple(dict.fromkeys(names))[:MOST]


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)
