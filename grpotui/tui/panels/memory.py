"""GPU memory against the idle baseline: three readings that are never mixed, torch's two and the driver's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpotui.text import duration, inert, size
from grpotui.tui import border, cells, memory
from grpotui.tui.memory import Memory
from grpotui.tui.panels.framed import LEAST_FRAMED
from grpotui.tui.panels.table import wrapped
from grpotui.tui.widgets.meter import MemoryMeters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.glyphs import Glyphs

_MOST_BARE: Final = 4
_OLD_S: Final = 30.0
"""A reading comes at least every 10 s."""


class GpuMemory(MemoryMeters):
    """A line a device, as many as there is room for."""

    def __init__(self) -> None:
        super().__init__("GPU memory, GiB: baseline → now")
        self._shown: object = None
        self._count = 0
        self._host = ""
        self.show((), "reading…")

    def show_frame(self, frame: Frame) -> None:
        """The newest frame."""
        document = frame.document
        found = [meter_of(gpu, document) for gpu in document["gpus"]]
        host = document.get("host")
        self._host = (
            ""
            if host is None
            else f"host memory: {size(host['memory_available_bytes'])} available of {size(host['memory_total_bytes'])}"
        )
        reason = inert(str(document["gpu_unavailable"] or "no GPU is known"))
        shown = (found, reason, self._host if not found else "")
        if shown != self._shown:
            self._shown, self._count = shown, len(found)
            self.show(found, f"GPU: {reason}")

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """The meters; without any the whole reason, and what is known of the host instead."""
        glyphs, wide, high = sheet
        if self._gpus and self.has_class("-bare"):
            return sheet.rest(self._bare(glyphs, wide, high))
        if self._gpus or high < LEAST_FRAMED or self.has_class("-bare"):
            return super().picture(sheet)
        lines = [*wrapped(self._reason, wide - 4), self._host][: high - 2]
        side: Run = (glyphs.frame[5], "frame")
        body = [[side, *cells.padded([(f" {line}", "label")], wide - 2), side] for line in lines]
        body += [[side, (" " * (wide - 2), "blank"), side]] * (high - 2 - len(body))
        return [border.top(glyphs, "GPUs", [], wide), *body, border.Foot(glyphs, wide).runs()]

    def _bare(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """A line a device, and how many more there are."""
        count = len(self._gpus)
        shown = self._gpus if count <= high else self._gpus[: high - 1]
        names = max(cells.width(gpu.name) for gpu in shown) if shown else 0
        tails = memory.tails(shown, glyphs, wide - names - 9)
        lines = [memory.row(gpu, glyphs, wide, names, tail) for gpu, tail in zip(shown, tails, strict=True)]
        more: list[Run] = [(f"+{count - len(shown)} more GPUs: page 3", "label")]
        return [*lines, *([cells.padded(more, wide)] if len(shown) < count else [])]

    def wanted(self) -> int:
        """Rows that it would fill without a frame."""
        return max(1, min(_MOST_BARE, self._count))


def meter_of(gpu: Mapping[str, Any], document: Mapping[str, Any]) -> Memory:
    """One device of a status document; what is not known of it stays so."""
    torch = torch_of(gpu, document)
    return Memory(
        name=str(gpu["gpu"]),
        total=gpu["total_bytes"],
        baseline=gpu["baseline_bytes"],
        used=gpu["used_bytes"],
        allocated=None if torch is None else torch[0],
        reserved=None if torch is None else torch[1],
        note=_note(gpu),
        reason=inert(str(gpu["unavailable"])) if gpu["unavailable"] is not None else "",
    )


def torch_of(gpu: Mapping[str, Any], document: Mapping[str, Any]) -> tuple[int, int] | None:
    """Allocated and reserved by torch in the processes of a device, in bytes; None where not all of that is known.

    A device's number inside a process is not the driver's: the processes are matched by their pids, and one that has
    more than one device is not told apart.
    """
    pids = {process["pid"] for process in gpu["processes"] or ()}
    counters = [one for one in document.get("torch_memory", ()) if one["pid"] in pids]
    if not counters or len({one["pid"] for one in counters}) < len(counters):
        return None
    return sum(one["allocated_bytes"] for one in counters), sum(one["reserved_bytes"] for one in counters)


def _note(gpu: Mapping[str, Any]) -> str:
    """Whether its memory came back; before that how busy it is, and how old the reading if it is old."""
    if gpu["returned"] is not None:
        return "back at baseline" if gpu["returned"] else f"NOT back: {inert(str(gpu['reason'] or 'why is not known'))}"
    load, age = gpu["utilization_percent"], gpu["sample_age_s"]
    words = ([f"busy {load}%"] if load is not None else []) + [inert(str(word)) for word in gpu["slowed"]]
    return ", ".join([*words, *([f"{duration(age)} old"] if age is not None and age > _OLD_S else [])])
