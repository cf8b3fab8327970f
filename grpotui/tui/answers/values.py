"""What goes between the samples page and its thread."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from grpotui.tui.answers.store import Criteria

if TYPE_CHECKING:
    from grpotui_supervisor.samples.sample import Sample


class Wish(NamedTuple):
    """What the page shows."""

    state: object
    """Of the source: another one means that there may be more samples."""
    criteria: Criteria = Criteria()
    at: int | None = None
    """The number of a sample; None: the first of the newest step."""
    find: tuple[str, int, int] | None = None
    """Words, which way, and a number that makes it another search."""


class Hit(NamedTuple):
    """What became of a search."""

    search: int
    number: int | None
    """Of the sample; None: there is none that way."""


class Shown(NamedTuple):
    """One sample among those that were chosen."""

    wish: Wish
    total: int = 0
    """All samples, whatever was chosen."""
    chosen: array[int] = array("I")
    """Their numbers, in their order."""
    at: int = 0
    """Which of them is shown."""
    sample: Sample | None = None
    group: tuple[tuple[int, Sample], ...] = ()
    """The answers to the same prompt in the same step, with their numbers."""
    size: int = 0
    """Answers in the group; at most some of them are in `group`."""
    distinct: int = 0
    """Different ones among them."""
    reading: bool = False
    searching: bool = False
    hit: Hit | None = None
    knows_ends: bool = False
    notes: tuple[str, ...] = ()
