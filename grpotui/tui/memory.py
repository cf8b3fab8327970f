"""The memory of GPUs as bars: what was there before, what torch holds, what the driver counts beside it, what is free.

torch's numbers and the driver's are taken at different moments by different programs: no order among them is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpotui.tui import border, cells
from grpotui.tui.cells import Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.glyphs import Glyphs

BASELINE, ALLOCATED, RESERVED, DRIVER, FREE, BEYOND = range(6)
"""Places of the parts in `Glyphs.memory` and `Palette.memory`."""
_WORDS = (
    ("baseline", "torch allocated", "torch reserved", "driver side", "free", "torch > driver"),
    ("base", "alloc", "resv", "driver", "free", "torch>driver"),
    ("base", "alloc", "resv", "drv", "free", ">drv"),
)
"""In full, and where room is scarce."""
_GIB = 2**30
_AROUND = 9
"""Cells of a row beside its name, its bar and what stands behind it."""
_NARROW = 12
"""Less cells than these have no frame."""
_BAR = 8
"""Less cells than these are no bar; the notes make room before."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one GPU; None is what is not known. `used` is the driver's count, the baseline and other jobs in it.

    `note` stands at the end of the row; `reason` says why there are no numbers.
    """

    name: str
    total: int | None = None
    baseline: int | None = None
    used: int | None = None
    allocated: int | None = None
    reserved: int | None = None
    note: str = ""
    reason: str = ""


def edges(gpu: Memory) -> list[tuple[int, float]]:
    """(part, where it ends in bytes), upwards from zero; None and what is not there have no part.

    Above the baseline stand torch's allocated bytes, then what it reserved beyond them, then what the driver counts
    beyond both. What torch says beyond the driver's count is its own part.
    """
    start = gpu.baseline or 0
    allocated = start + (gpu.allocated or 0)
    torch = max(allocated, start + (gpu.reserved or 0))
    told = gpu.allocated is not None or gpu.reserved is not None
    ends: list[tuple[int, float]] = [(BASELINE, start)]
    if gpu.used is None:
        return _growing([*ends, (ALLOCATED, allocated), (RESERVED, torch)])
    limit = gpu.used
    within = [(ALLOCATED, min(allocated, limit)), (RESERVED, min(torch, limit)), (DRIVER, limit)]
    over = [(BEYOND, torch)] if told and torch > limit else []
    return _growing([(BASELINE, min(start, limit)), *within, *over, (FREE, gpu.total or 0)])


def _growing(ends: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    reached, out = 0.0, []
    for part, end in ends:
        if end > reached:
            out.append((part, end))
            reached = end
    return out


def bar(gpu: Memory, wide: int) -> list[int | None]:
    """The part of each cell; every part has one at least, as far as there are cells; None where it is not known."""
    if not gpu.total or gpu.total <= 0:
        return [None] * wide
    out: list[int | None] = []
    ends = edges(gpu)
    for number, (part, end) in enumerate(ends):
        later = len(ends) - number - 1  # each of them needs a cell too
        reach = min(max(round(wide * min(1.0, end / gpu.total)), len(out) + 1), wide - later)
        out += [part] * (reach - len(out))
    return [*out, *[None] * (wide - len(out))][:wide]


def row(gpu: Memory, glyphs: Glyphs, wide: int, name_cells: int, tail: str) -> list[Run]:
    """`0   0.0 ▕████▓▓▒▒····▏  71.2/139.8  51%`: baseline before the bar, now behind it."""
    name = cells.cut(gpu.name, name_cells, glyphs.cut)
    head: list[Run] = [(" " * (name_cells - cells.width(name)) + f"{name} ", "title")]
    if gpu.reason:
        return cells.padded([*head, (f" {cells.cut(gpu.reason, wide - name_cells - 2, glyphs.cut)}", "label")], wide)
    before = "" if gpu.baseline is None else f"{gpu.baseline / _GIB:.1f}"
    room = wide - name_cells - _AROUND - cells.width(tail)
    if room < 1:
        return cells.padded([*head, (tail, "value")], wide)
    parts = bar(gpu, room)
    drawn: list[Run] = [_cell(glyphs, part) for part in parts] if gpu.total else [(" " * room, "blank")]
    left, right = glyphs.edges
    runs = [*head, (f"{before:>5} ", "label"), (left, "frame"), *drawn, (right, "frame")]
    return cells.padded([*cells.merged(runs), (tail, "value")], wide)


def _cell(glyphs: Glyphs, part: int | None) -> Run:
    return (" ", "blank") if part is None else (glyphs.memory[part], f"memory{part}")


def tails(gpus: Sequence[Memory], glyphs: Glyphs, room: int) -> list[str]:
    """What stands behind the bars, all of one width: amounts and notes, or without notes where they leave no bar."""
    amounts = [_amount(gpu) for gpu in gpus]
    notes = [cells.cut(gpu.note, 24, glyphs.cut) for gpu in gpus]
    both = [f" {amount} {note}".rstrip() for amount, note in zip(amounts, notes, strict=True)]
    fit = max(map(cells.width, both), default=0) + _BAR <= room
    texts = both if fit else [f" {amount}" for amount in amounts]
    widest = max(map(cells.width, texts), default=0)
    return [text + " " * (widest - cells.width(text)) for text in texts]


def _amount(gpu: Memory) -> str:
    """What the driver counts of all there is, as far as known; all of it in GiB, in columns."""
    used = "unknown" if gpu.used is None else f"{gpu.used / _GIB:.1f}"
    if not gpu.total:
        return f"{used:>5}/unknown" if gpu.used is not None else "unknown"
    share = "" if gpu.used is None else f" {gpu.used / gpu.total:4.0%}"
    return f"{used:>5}/{gpu.total / _GIB:.1f}{share}"


def legend(gpus: Sequence[Memory], glyphs: Glyphs, wide: int) -> list[Run]:
    """The parts that are in the picture, in words as long as there is room for."""
    there = sorted({part for gpu in gpus if gpu.total and not gpu.reason for part, _ in edges(gpu)})
    names = [cells.spaced([[_cell(glyphs, part), (f" {words[part]}", "label")] for part in there]) for words in _WORDS]
    return cells.padded(next((runs for runs in names if cells.length(runs) <= wide), names[-1]), wide)


def _rest(gpus: Sequence[Memory]) -> str:
    """Those that have no row: ` +4 more: 68.0 to 71.3 used, 1 not read`."""
    used = [gpu.used / _GIB for gpu in gpus if gpu.used is not None and not gpu.reason]
    words = (
        [f"{min(used):.1f} to {max(used):.1f} used" if min(used) < max(used) else f"{used[0]:.1f} used"] if used else []
    )
    words += [f"{len(gpus) - len(used)} not read"] if len(used) < len(gpus) else []
    return f" +{len(gpus)} more: {', '.join(words)}"


def draw(gpus: Sequence[Memory], sheet: Sheet, title: str, reason: str) -> list[list[Run]]:
    """One row each; a frame where it does not cost a GPU its row, `+n more` where they are too many."""
    glyphs, wide, high = sheet
    framed = wide >= _NARROW and high >= 3 and high - 2 >= min(len(gpus), 2)
    if not gpus:
        if framed:
            return border.empty(sheet, title, reason)
        return sheet.rest([cells.padded([(cells.cut(reason, wide, glyphs.cut), "label")], wide)])
    body = _body(gpus, Sheet(glyphs, wide - 4, high - 2) if framed else sheet)
    if not framed:
        return body
    side, gap = (glyphs.frame[5], "frame"), (" ", "blank")
    lines = [[side, gap, *line, gap, side] for line in body]
    return [border.top(glyphs, title, [], wide), *lines, border.Foot(glyphs, wide).runs()]


def _body(gpus: Sequence[Memory], sheet: Sheet) -> list[list[Run]]:
    glyphs, wide, rows = sheet
    shown = gpus if len(gpus) <= rows else gpus[: max(1, rows - 1)]
    names = min(max(cells.width(cells.cut(gpu.name, 16, glyphs.cut)) for gpu in gpus), wide // 5)
    names = max(1, names)
    behind = tails(gpus, glyphs, wide - names - _AROUND)
    lines = [row(gpu, glyphs, wide, names, tail) for gpu, tail in zip(shown, behind, strict=False)]
    if len(shown) < len(gpus) and len(lines) < rows:
        lines.append(cells.padded([(cells.cut(_rest(gpus[len(shown) :]), wide, glyphs.cut), "label")], wide))
    elif len(lines) < rows:
        lines.append(legend(gpus, glyphs, wide))
    return sheet.rest(lines)
