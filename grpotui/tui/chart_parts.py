"""What a chart is told to show, and how; values, nothing drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from grpotui.tui.glyphs import BRAILLE, Glyphs

if TYPE_CHECKING:
    from grpotui.tui.series import Series

Axis = Literal["step", "time", "tokens"]
"""What x counts; time is in seconds since the start."""
MarkKind = Literal["validation", "checkpoint", "finding", "death", "restart"]
Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Line:
    """The first `count` points of a series; its name is shown where there are several."""

    name: str
    series: Series
    count: int


@dataclass(frozen=True, slots=True)
class Band:
    """What lies between two lines, as the framework prints them: `min to max`, `± std`."""

    name: str
    low: Line
    high: Line


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit by name, in the chart's unit."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Mark:
    """Something at an x: in the picture where it has a y, on the axis where it has none.

    `name` is told where the crosshair is on it: `rank 2 killed by SIGKILL`.
    """

    kind: MarkKind
    x: float
    y: float | None = None
    severity: Severity = "info"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A title, lines, limits and marks; `note` follows the last value, `empty` stands where there is no point.

    Lines are parts of one thing, or one metric of several runs: each has its name, colour and glyph. A band is that of
    the first line.
    """

    title: str
    lines: tuple[Line, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    marks: tuple[Mark, ...] = ()
    note: str = ""
    empty: str = "not printed by this run"
    band: Band | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """How it is drawn. `window` is the x range shown, else that of the points; `cursor` where a replay is.

    `held`: a value holds until the next one, as a reading does that is recorded when it changes.
    """

    glyphs: Glyphs = BRAILLE
    axis: Axis = "step"
    log: bool = False
    smoothing: float = 0.0
    window: tuple[float, float] | None = None
    cursor: float | None = None
    crosshair: float | None = None
    held: bool = False
