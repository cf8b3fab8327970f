"""The logs of a job that grpotui did not start, as far as the timeline tells of where their bytes came from.

A copy of each is in the run directory, so that nobody's rotation or truncation changes what a replay shows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ATTACHED = "attached"
"""Why of the first origin of a log that was there at the attach: what it held then has no times of its own."""


@dataclass(frozen=True, slots=True)
class Origin:
    """From byte `at` on, the copy holds the file (dev, inode) from its beginning."""

    dev: int
    inode: int
    at: int
    packed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedLog:
    """What is on record of one log."""

    state: str | None = None
    """`followed`, `missing`, or `read` (a compressed one, to its end); None: nobody has looked yet."""
    reason: str | None = None
    """Why it is missing."""
    origin: Origin | None = None
    history_bytes: int = 0
    """What it held at the attach, unpacked only where it is not compressed."""
    rotated: int = 0
    truncated: int = 0
    missed: tuple[str, ...] = ()
    """Why bytes of it may be in no copy."""


class Followed:
    """A fold over timeline.jsonl.

    Attributes:
        logs: each log's present state, by its path below `ranks/`.
        paths: where each of them comes from.
    """

    def __init__(self) -> None:
        self.logs: dict[str, FollowedLog] = {}
        self.paths: dict[str, str] = {}

    def take(self, record: Mapping[str, Any]) -> None:
        """One record of the timeline; one that lacks what its kind needs changes nothing."""
        handler = _HANDLERS.get(record["ev"])
        if handler is not None:
            with suppress(KeyError, TypeError, ValueError, OverflowError):
                name = str(record["file"])
                self.paths.setdefault(name, str(record.get("path", name)))
                self.logs[name] = handler(self.logs.get(name, FollowedLog()), record)


def _origin(log: FollowedLog, record: Mapping[str, Any]) -> FollowedLog:
    why = str(record["why"])
    packed = bool(record.get("packed", False))
    origin = Origin(int(record["dev"]), int(record["inode"]), int(record["at"]), packed)
    return replace(
        log,
        state="followed",
        reason=None,
        origin=origin,
        history_bytes=int(record["size"]) if why == ATTACHED else log.history_bytes,
        rotated=log.rotated + (why == "rotated"),
        truncated=log.truncated + (why == "truncated"),
    )


_HANDLERS: dict[str, Callable[[FollowedLog, Mapping[str, Any]], FollowedLog]] = {
    "origin": _origin,
    "missing": lambda log, record: replace(log, state="missing", reason=str(record["why"])),
    "missed": lambda log, record: replace(log, missed=(*log.missed, str(record["why"]))),
    "read": lambda log, _: replace(log, state="read"),
    "back": lambda log, _: replace(log, state="followed", reason=None),
}
