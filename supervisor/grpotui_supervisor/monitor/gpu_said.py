"""What an earlier monitor of the run has put into gpu.jsonl: it is not said twice."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.gpu.returning import NotReturned, Returned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from grpotui_supervisor.gpu.returning import Verdict

_FRAME = ("ev", "t", "m", "seq", "written_m")


@dataclass
class Said:
    """The last word on each thing."""

    nvml: dict[str, Any] | None = None
    devices: dict[str, dict[str, Any]] = field(default_factory=dict)
    absent: set[tuple[str, str]] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    lists: dict[str, dict[str, Any]] = field(default_factory=dict)
    verdicts: dict[str, tuple[int, Verdict]] = field(default_factory=dict)
    """With the moment of the record."""
    most_bytes: dict[str, int] = field(default_factory=dict)
    """The most that each device was seen to hold: when the last rank ended nobody may have looked."""

    def take(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Reads them back; a record that lacks what it should hold is passed over."""
        for record in records:
            with suppress(KeyError, TypeError, ValueError, AttributeError):
                self._take(record)

    def _take(self, record: Mapping[str, Any]) -> None:
        event = record["ev"]
        fields = {name: value for name, value in record.items() if name not in _FRAME}
        if event == "nvml":
            self.nvml = fields
        elif event in ("returned", "not_returned"):
            self.verdicts[str(record["gpu"])] = (int(record["m"]), _verdict(record))
        elif event == "gpus":
            for key, read in record["read"].items():
                self.most_bytes[key] = max(self.most_bytes.get(key, 0), int(read["used"] or 0))
        elif event in _OF_A_DEVICE:
            _OF_A_DEVICE[event](self, str(record["gpu"]), fields)


_OF_A_DEVICE: dict[str, Callable[[Said, str, dict[str, Any]], object]] = {
    "device": lambda said, key, fields: said.devices.update({key: fields}),
    "absent": lambda said, key, fields: said.absent.add((key, str(fields["field"]))),
    "lost": lambda said, key, _: said.lost.add(key),
    "found": lambda said, key, _: said.lost.discard(key),
    "processes": lambda said, key, fields: said.lists.update({key: fields}),
}


def _verdict(record: Mapping[str, Any]) -> Verdict:
    if record["ev"] == "returned":
        return Returned(
            **{name: record[name] for name in ("seconds", "used_bytes", "baseline_bytes", "tolerance_bytes")}
        )
    names = ("reason", "evidence", "final", "seconds", "used_bytes", "baseline_bytes")
    return NotReturned(**{name: record[name] for name in names}, holders=())
