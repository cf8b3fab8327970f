"""Where the time of the steps goes: generate, update and the others, as the log prints them or the hook saw them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grpotui.text import PHASES, duration
from grpotui.tui import cells
from grpotui.tui.bars import NO_TIMES, Step
from grpotui.tui.widgets.stacked import StackedBars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui_supervisor.source.time_split import Split

STEPS: Final = 250
"""As many as the widest terminal has columns."""
_TITLE: Final = "time per step"


class Times(StackedBars):
    """A bar a step, and what is going on now."""

    def __init__(self) -> None:
        super().__init__(_TITLE)
        self._shown: object = None
        self._seen: object = None
        self._splits: list[Split] = []

    def show_frame(self, feed: Feed, frame: Frame) -> None:
        """The newest frame."""
        document = frame.document
        since = document.get("phase_since_offset_s")  # the hook knows of a step before its record is there
        seen = (frame.kind, frame.rows, document["metrics"], since)  # a late value changes the metrics, not the rows
        if seen != self._seen:
            self._seen, self._splits = seen, feed.splits(STEPS)
        self._title = _TITLE + ("" if self.has_class("-bare") else told_by(self._splits) + now(document))
        shown = (self._title, self._splits, frame.rows > 0, document["state"])
        if shown != self._shown:
            self._shown = shown
            told = frame.rows > 0 and document["state"] in (None, "ended")
            self.show([step_of(split) for split in self._splits], "not printed by this run" if told else NO_TIMES)


def step_of(split: Split) -> Step:
    """The rest is a part where it is known to be one; of parts that overlap no whole is told."""
    rest = {} if split.other is None else {"other": split.other}
    number = split.step if split.step is not None else split.row + 1
    return Step(number, {name: round(value, 3) for name, value in {**split.parts, **rest}.items()}, split.whole)


def told_by(splits: Sequence[Split]) -> str:
    """Whose times they are, where that is not the log, and that it tells no parts."""
    if not splits:
        return ""
    if splits[-1].told_by == "hook":
        return ", by the hook"
    return "" if any(split.parts for split in splits) else ", its parts are not printed"


def now(document: Mapping[str, Any]) -> str:
    """` · now generating, 14s`; nothing where nobody tells, and once it is over."""
    phase, since = document["phase"], document.get("phase_since_offset_s")
    offset = (document.get("as_of") or {}).get("offset_s")
    if phase is None or document["state"] in (None, "ended"):
        return ""
    words = " and ".join(PHASES.get(part, part) for part in str(phase).split(" + "))
    age = "" if since is None or offset is None else f", {duration(offset - since)}"
    return f" · now {cells.cut(words, 40)}{age}"
