"""What stands around the list of runs: the machine, its GPUs with who is on them, and all of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpotui.text import duration, inert, number
from grpotui.tui import cells, memory
from grpotui.tui.panels.framed import Framed
from grpotui.tui.panels.run_list import sign
from grpotui.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.feed.machine import MachineFrame
    from grpotui.tui.feed.run_row import RunRow
    from grpotui.tui.glyphs import Glyphs

_GIB: Final = 1 << 30
_BAR: Final = (10, 40)
_ROLES: Final = {"idle": "good", "held": "info", "lost": "critical"}


class MachineHeader(Drawn):
    """One row: the host, its GPUs in a word, and how many runs there are."""

    DEFAULT_CSS = "MachineHeader { height: 1; background: $panel; }"

    def __init__(self, host: str) -> None:
        super().__init__()
        self._host = host
        self._frame: MachineFrame | None = None

    def show(self, frame: MachineFrame) -> None:
        """The newest frame."""
        self._frame = frame
        self.redraw()

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """One row."""
        frame = self._frame
        left: list[Run] = [(" grpotui  ", "label"), (cells.cut(self._host, 40), "value")]
        right: list[Run] = [] if frame is None else _counts(frame)
        left += [] if frame is None or frame.gpus is None else [(f" · {_devices(frame.gpus)}", "label")]
        gap = max(2, sheet.wide - cells.length(left) - cells.length(right) - 1)
        return sheet.rest([cells.padded([*left, (" " * gap, "blank"), *right], sheet.wide)])


def _counts(frame: MachineFrame) -> list[Run]:
    if frame.unread is None:
        return [("looking…", "info")]
    live = sum(1 for row in frame.runs if row.is_live)
    damaged = sum(1 for row in frame.runs if row.state == "unreadable")
    parts: list[list[Run]] = [[(f"● {live} live", "good" if live else "label")]]
    parts += [[(f"{len(frame.runs) - live - damaged} ended", "label")]]
    parts += [[(f"? {damaged} unreadable", "warning")]] if damaged else []
    parts += [[(f"{frame.unread} to be looked at", "info")]] if frame.unread else []
    return cells.spaced(parts)


def _devices(document: Mapping[str, Any]) -> str:
    names = [inert(str(gpu["name"] or "GPU")).removeprefix("NVIDIA ") for gpu in document["gpus"]]
    kinds = [f"{names.count(name)}×{cells.cut(name, 24)}" for name in dict.fromkeys(names)]
    return f"{', '.join(kinds) or 'no GPU'} · driver {inert(str(document['driver']))}"


class MachineGpus(Framed):
    """A line a GPU: memory in use, how busy it is, and who holds it."""

    title = "GPUs of this machine, GiB"

    def __init__(self) -> None:
        super().__init__()
        self._document: Mapping[str, Any] | None = None
        self._reason = "looking…"

    def show(self, frame: MachineFrame) -> None:
        """The newest frame."""
        reason = frame.gpu_reason or ("it has none" if frame.gpus is not None else "looking…")
        if (frame.gpus, reason) != (self._document, self._reason):
            self._document, self._reason = frame.gpus, reason
            self.redraw()

    def wanted(self) -> int:
        """Rows that it would fill without a frame."""
        return 1 if self._document is None else max(1, len(self._document["gpus"]))

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """The devices; what does not fit is counted."""
        gpus = [] if self._document is None else self._document["gpus"]
        if not gpus:
            return [[(cells.cut(f"GPU: {self._reason}", wide, glyphs.cut), "label")]]
        shown = gpus if len(gpus) <= high else gpus[: max(1, high - 1)]
        rows = [_gpu(gpu, glyphs, wide) for gpu in shown]
        more = len(gpus) - len(shown)
        return [*rows, [(f"+{more} more: grpotui gpus", "label")]] if more and high > 1 else rows


def _gpu(gpu: Mapping[str, Any], glyphs: Glyphs, wide: int) -> list[Run]:
    if gpu["unavailable"] is not None:
        return [
            (f"{cells.cut(str(gpu['gpu']), 12):<3} ", "value"),
            (cells.cut(str(gpu["unavailable"]), wide), "critical"),
        ]
    room = min(max(wide // 4, _BAR[0]), _BAR[1])
    meter = memory.Memory(name=str(gpu["gpu"]), total=gpu["total_bytes"], used=gpu["used_bytes"])
    parts = memory.bar(meter, room) if gpu["used_bytes"] is not None else [None] * room
    drawn = [(" ", "blank") if p is None else (glyphs.memory[p], f"memory{p}") for p in parts]
    busy = "-" if gpu["utilization_percent"] is None else f"{gpu['utilization_percent']:.0f} %"
    left, right = glyphs.edges
    runs: list[Run] = [
        (f"{cells.cut(str(gpu['gpu']), 12):<3} ", "value"),
        (left, "frame"),
        *drawn,
        (right, "frame"),
        (f" {_amount(gpu):>11}", "value"),
        (f"  {busy:>5}", "title"),
        (f"  {gpu['state']:<7}", _ROLES.get(gpu["state"], "label")),
    ]
    return [*cells.merged(runs), ("  ", "blank"), (cells.cut(_holders(gpu), wide), "label")]


def _amount(gpu: Mapping[str, Any]) -> str:
    used, total = gpu["used_bytes"], gpu["total_bytes"]
    first = "?" if used is None else f"{used / _GIB:.1f}"
    return f"{first}/{total / _GIB:.1f}" if total else first


def _holders(gpu: Mapping[str, Any]) -> str:
    """Runs first, each once, then the programs of nobody's run."""
    if gpu["processes"] is None:
        return f"who is on it is not told: {gpu['processes_reason']}"
    found = [_holder(process) for process in gpu["processes"]]
    if not found and gpu["state"] != "idle":
        return str(gpu["evidence"])
    return ", ".join(dict.fromkeys(sorted(found, key=lambda words: words.startswith("("))))


def _holder(process: Mapping[str, Any]) -> str:
    if process["run"] is not None:
        rank = process["member"] if process["rank"] is None else f"rank {process['rank']}"
        return f"{process['run']} {rank}".strip()
    return f"({process['name'] or 'not visible here'} of {process['user'] or 'somebody'})"


class RunDetails(Framed):
    """All that is known of the run at the cursor, in words."""

    def __init__(self) -> None:
        super().__init__()
        self._row: RunRow | None = None

    def show(self, row: RunRow | None) -> None:
        """The run at the cursor."""
        if row != self._row:
            self._row = row
            self.title = "" if row is None else cells.cut(row.run, 60)
            self.redraw()

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:  # noqa: ARG002  (cut by the frame)
        """How it is, what it is, where it is."""
        row = self._row
        if row is None:
            return []
        glyph, word, role = sign(row)
        words = row.words if row.words.startswith(word) else f"{word}: {row.words}".removesuffix(": ")
        return [
            [(f"{glyph} ", role), (cells.cut(words, wide - 2, glyphs.cut), role)],
            [(cells.cut(" · ".join(_facts(row)), wide, glyphs.cut), "title")],
            [(cells.cut(row.path, wide, glyphs.cut), "label")],
        ]


def _facts(row: RunRow) -> Sequence[str]:
    if row.state == "unreadable":
        return []
    found = [row.framework or "framework not recognised" if row.logs is None else None]
    found += [f"{row.ranks} rank{'s' if row.ranks != 1 else ''}" if row.ranks else None]
    found += [None if row.step is None else f"step {row.step}" + (f" of {row.steps_total}" if row.steps_total else "")]
    found += [None if row.reward is None else f"{row.reward[0]} {number(row.reward[1])}"]
    found += [f"{row.findings} findings, {row.critical} critical" if row.findings else None]
    found += [None if row.eta_s is None else f"ETA {duration(row.eta_s)}", row.logs]
    return [inert(text) for text in found if text is not None]
