"""Values that go from a feed to the screens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.source.changes import Change

Kind = Literal["live", "replay", "log"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """How a cursor moves by itself."""

    playing: bool = False
    speed: int = 1
    """Of a run: seconds of it a second; of a bare log: records a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """All that the screens show, as of the cursor. What a panel needs beside it are curves, which its feed has."""

    kind: Kind
    document: Mapping[str, Any] = field(default_factory=dict)
    """The status document, or a bare log's; empty before the first look."""
    moment: int | None = None
    """The cursor: monotonic nanoseconds of a run, records of a log; None before the first look."""
    rows: int = 0
    """Records of metrics as of the cursor."""
    changes: tuple[Change, ...] = ()
    """What is new since the frame before, of a live run."""
    reading: tuple[int, int | None] | None = None
    """Bytes that are read so far, of how many; None: all of it is read."""
    notice: str | None = None
    """The newest word about this client itself."""
    play: Play | None = None
    """None: nothing is played, this is live."""
    awaited: tuple[str, ...] = ()
    """Of a run that has ended, the devices of which it is still to be said whether their memory is back."""
    over: bool = False
    """Nothing more will come."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was looked at yet."""
        return not self.document
