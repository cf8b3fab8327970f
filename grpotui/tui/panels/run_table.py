"""Several runs side by side: how each ended, how far it came, what it reached, how long its steps took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpotui.text import duration, inert, number, verdict_line
from grpotui.tui import cells
from grpotui.tui.panels.framed import Framed
from grpotui.tui.panels.run_list import STATES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.glyphs import Glyphs

_SENTENCE: Final = 24
"""With fewer cells than these the verdict's word stands alone."""
_VALUES: Final = (
    ("reward", ("reward/mean", "score/mean")),
    ("kl", ("kl/reference", "kl/update", "kl/mismatch")),
    ("entropy", ("entropy",)),
    ("length", ("length/mean",)),
)
"""Last values that stand in the table, by the first metric that the run prints."""


class RunTable(Framed):
    """A row a run, with the glyph and the colour of its lines; below them the settings that differ."""

    title = "what differs"

    def __init__(self, runs: Sequence[str]) -> None:
        super().__init__()
        self._runs = tuple(runs)
        self._lines: list[list[str]] = []
        self._signs: list[tuple[str, str]] = []
        self._settings: Sequence[tuple[str, Sequence[str]]] = ()

    def show(self, frames: Sequence[Frame], errors: Sequence[str | None]) -> None:
        """The newest frame of each run, and why one cannot be read."""
        pairs = list(zip(frames, errors, strict=True))
        lines = [_line(run, frame, error) for run, (frame, error) in zip(self._runs, pairs, strict=True)]
        signs = [_sign(frame, error) for frame, error in pairs]
        if (lines, signs) != (self._lines, self._signs):
            self._lines, self._signs = lines, signs
            self.redraw()

    def show_settings(self, settings: Sequence[tuple[str, Sequence[str]]]) -> None:
        """(name, its value in each run) of what the runs were started with, where it differs."""
        self._settings = settings
        self.redraw()

    def wanted(self) -> int:
        """Rows that it would fill without a frame."""
        return len(self._runs) + 1 + len(self._settings)

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """Columns as wide as their cells, the words of the end last."""
        if not self._lines:
            return [[("reading…", "label")]]
        head = ["run", "step", *(name for name, _ in _VALUES), "s/step", "took", "end"]
        table = [head, *self._lines]
        widths = [max(cells.width(line[at]) for line in table) for at in range(len(head) - 1)]
        widths[0] = min(widths[0], max(12, wide // 3))
        found = [[("  ", "blank"), *_row(head, widths, wide - 2, "label")]]
        for nth, (line, (glyph, role)) in enumerate(zip(self._lines, self._signs, strict=True)):
            name = glyphs.names[nth % len(glyphs.names)]
            end = (f"{glyph} {line[-1]}".strip(), role)
            found.append([(f"{name} ", f"line{nth}"), *_row([*line[:-1], end[0]], widths, wide - 2, "title", role)])
        return [*found, *self._differing(wide, glyphs)][:high]

    def _differing(self, wide: int, glyphs: Glyphs) -> list[list[Run]]:
        """`learning_rate   ● 1e-05   ■ 5e-06`."""
        most = max((cells.width(name) for name, _ in self._settings), default=0)
        rows: list[list[Run]] = []
        for name, values in self._settings:
            row: list[Run] = [("  ", "blank"), (f"{cells.cut(name, wide // 3):<{min(most, wide // 3)}}", "label")]
            room = max(6, (wide - cells.length(row)) // max(1, len(values)) - 5)
            for nth, value in enumerate(values):
                row += [(f"   {glyphs.names[nth % len(glyphs.names)]} ", f"line{nth}")]
                row += [(cells.cut(value, room, glyphs.cut), "title")]
            rows.append(row)
        return rows


def _row(line: Sequence[str], widths: Sequence[int], wide: int, role: str, end: str = "") -> list[Run]:
    name = cells.cut(line[0], widths[0])
    runs: list[Run] = [(name + " " * (widths[0] - cells.width(name)), role)]
    runs += [(f"  {text:>{width}}", role) for text, width in zip(line[1:-1], widths[1:], strict=True)]
    room = max(1, wide - cells.length(runs) - 2)
    words = line[-1] if room >= _SENTENCE else line[-1].partition(":")[0]
    return [*runs, ("  ", "blank"), (cells.cut(words, room), end or role)]


def _line(run: str, frame: Frame, error: str | None) -> list[str]:
    if error is not None or frame.is_empty:
        return [run, *["-"] * (len(_VALUES) + 3), error or "reading…"]
    document = frame.document
    step, total = document["step"], document["steps_total"]
    rate = document["progress"]["rate_s_per_step"]
    took = _took(document)
    return [
        run,
        "-" if step is None else f"{step}/{total}" if total else str(step),
        *(_value(document["metrics"], keys) for _, keys in _VALUES),
        "-" if rate is None else f"{rate:.3g}",
        "-" if took is None else duration(took),
        _end(document, frame),
    ]


def _value(metrics: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((number(metrics[key]) for key in keys if key in metrics), "-")


def _took(document: Mapping[str, Any]) -> float | None:
    """From the start to the end of the last rank; so far, of a run that goes on."""
    ends = [member.get("ended_offset_s") for member in document["ranks"]]
    if ends and all(end is not None for end in ends):
        return max(float(end) for end in ends)
    offset = document.get("as_of", {}).get("offset_s")
    return None if offset is None else float(offset)


def _end(document: Mapping[str, Any], frame: Frame) -> str:
    if frame.kind == "log":
        complete = "training complete; " if document["training_complete"] else ""
        return f"{complete}exits: not in this log"
    return inert(verdict_line(document))


def _sign(frame: Frame, error: str | None) -> tuple[str, str]:
    if error is not None or frame.is_empty:
        return STATES["unreadable"] if error is not None else ("", "label")
    word = frame.document["verdict"] or frame.document["state"]
    return STATES.get(word, ("◇", "label"))
