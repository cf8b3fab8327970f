"""The devices in a row each, and who is on one of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from grpotui.text import duration, member_word, size
from grpotui.tui import memory
from grpotui.tui.panels.device_words import OLD_S, return_word
from grpotui.tui.panels.memory import meter_of
from grpotui.tui.panels.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.glyphs import Glyphs

_DEVICES: Final = (
    Column("gpu"),
    Column("name", 5, most=24),
    Column("idle", 4, right=True),
    Column("used", right=True),
    Column("of", 1, right=True),
    Column("memory", 6, least=12, most=60, grows=True),
    Column("busy", 2, right=True),
    Column("power", 7, right=True),
    Column("temp", 7, right=True),
    Column("state", most=48),
)
_PROCESSES: Final = (
    Column("pid", right=True),
    Column("whose", most=22),
    Column("driver", right=True),
    Column("name", 3, most=28),
    Column("user", 2, most=14),
    Column("kind", 4, most=9),
)
_OWNERS: Final = {
    "run": ("this run", "good"),
    "probably": ("probably this run", "warning"),
    "before": ("there before", "label"),
    "other": ("not of this run", "warning"),
    "unseen": ("not visible here", "warning"),
}


class Devices(Table):
    """Every device that the driver tells of; those that are not of the run are pale."""

    def __init__(self) -> None:
        super().__init__("GPUs", _DEVICES)

    def show(self, document: Mapping[str, Any]) -> None:
        """Those of a status document."""
        gpus = document["gpus"]
        self.fill(len(gpus), lambda at: _device(gpus[at], document), ("none",))


class Processes(Table):
    """Those that the driver lists on one device."""

    def __init__(self) -> None:
        super().__init__("processes", _PROCESSES)

    def show(self, gpu: Mapping[str, Any]) -> None:
        """Of a device, those that hold most first."""
        listed = sorted(gpu["processes"] or (), key=lambda process: -(process["used_bytes"] or 0))
        self.title = f"processes on GPU {gpu['gpu']}"
        self.fill(len(listed), lambda at: _process(listed[at]), _nobody(gpu))


def _device(gpu: Mapping[str, Any], document: Mapping[str, Any]) -> Sequence[Cell]:
    age = gpu["sample_age_s"]
    role = "label" if not gpu["in_run"] or age is None or age > OLD_S else "value"
    meter = meter_of(gpu, document)

    def bar(glyphs: Glyphs, wide: int) -> list[Run]:
        if meter.reason or not meter.total:
            return [(" " * wide, "blank")]
        left, right = glyphs.edges
        inner = (
            (" ", "blank") if part is None else (glyphs.memory[part], f"memory{part}")
            for part in memory.bar(meter, max(1, wide - 2))
        )
        return [(left, "frame"), *inner, (right, "frame")]

    return (
        (gpu["gpu"], "value"),
        ((gpu["name"] or "-").removeprefix("NVIDIA "), role),
        (size(gpu["baseline_bytes"]), "label"),
        (size(gpu["used_bytes"]), role),
        (size(gpu["total_bytes"]), "label"),
        bar,
        (_told(gpu["utilization_percent"], "{} %"), role),
        (_told(gpu["power_w"], "{:.0f} W"), role),
        (_told(gpu["temperature_c"], "{} °C"), role),
        _state(gpu),
    )


def _told(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _state(gpu: Mapping[str, Any]) -> Run:
    """The worst that is known of it, in few words."""
    word, role = return_word(gpu)
    faults = [one for one in gpu["xids"] if one["severity"] != "note"]
    age = gpu["sample_age_s"]
    known: list[tuple[object, Run]] = [
        (gpu["unavailable"], (str(gpu["unavailable"]), "warning")),
        (role == "critical", (word, role)),
        (faults, (f"✖ Xid {faults[-1]['xid'] if faults else ''}", "critical")),
        (gpu["slowed"], (f"▲ slowed: {', '.join(gpu['slowed'])}", "warning")),
        (word, (word, role)),
        (age is not None and age > OLD_S, (f"{duration(age or 0)} old", "warning")),
        (not gpu["in_run"], ("not of this run", "label")),
    ]
    return next((run for told, run in known if told), ("", "label"))


def _process(process: Mapping[str, Any]) -> Sequence[Cell]:
    word, role = _OWNERS.get(process["owner"], (str(process["owner"]), "label"))
    whose = member_word(process["member"]) if process["member"] is not None else word
    return (
        (str(process["pid"]), "value"),
        (whose, role),
        (size(process["used_bytes"]), "value"),
        (os.path.basename(process["name"] or "-"), "title"),
        (process["user"] or "-", "label"),
        (process["type"], "label"),
    )


def _nobody(gpu: Mapping[str, Any]) -> tuple[str, ...]:
    if gpu["processes"] is not None:
        return ("nobody visible here",)
    return (f"the list is not known: {gpu['processes_reason']}",)
