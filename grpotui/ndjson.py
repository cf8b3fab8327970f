"""The NDJSON front end: one JSON object a line on stdout, described by `schemas/stream.schema.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grpotui.output import Data, say
from grpotui_supervisor.source.changes import (
    Change,
    Entered,
    Held,
    LeftBehind,
    LeftoverEnded,
    LogChanged,
    MemberChanged,
    PhaseChanged,
    Raised,
    Signalled,
    Stepped,
    Unwatched,
)
from grpotui_supervisor.source.gpu_changes import (
    GpuChange,
    GpuFound,
    GpuLost,
    GpuNotReturned,
    GpuReturned,
    NvmlChanged,
    NvmlSilent,
    XidSeen,
)
from grpotui_supervisor.source.gpu_fields import leftover_fields
from grpotui_supervisor.source.status import finding_fields, number, state_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.source.source import Source

SCHEMA = 1


class NdJson:
    """Prints changes as they come; the last line has the exit code, and whose word it is."""

    def __init__(self) -> None:
        self._data = Data()

    def begin(self, source: Source) -> None:
        """Which run this is."""
        self._print("run", run=source.directory.run_id, directory=source.directory.path)

    def show(self, source: Source, changes: list[Change]) -> None:  # noqa: C901, PLR0912  (one line a kind)
        """One line for each change."""
        for change in changes:
            match change:
                case Stepped(row, step):
                    self._step(source, row, step)
                case MemberChanged(m):
                    self._print("member", member=m.key, rank=m.rank, role=m.role, owned=m.owned, pid=m.pid,
                                sent=list(m.sent), **state_fields(m.state))  # fmt: skip
                case Signalled(plan):
                    self._print("signal", signal=plan.signal, plan=plan.kind, why=plan.why)
                case Held(why):
                    self._print("hold", why=why)
                case LeftBehind(left):
                    self._print("leftover", **leftover_fields(source, left))
                case LeftoverEnded():
                    self._print("leftover_ended", **_fate(change))
                case Raised(finding):
                    self._print("finding", **finding_fields(finding))
                case Entered(name, told_by):
                    self._print("phase", **{"phase": name, "from": told_by})
                case Unwatched(seconds):
                    self._print("gap", seconds=seconds)
                case LogChanged(path, what):
                    self._print("log", path=path, what=what)
                case PhaseChanged(phase):
                    self._print("state", state=phase)
                case _:
                    name, fields = _gpu(change)
                    self._print(name, **fields)

    def end(self, source: Source, document: Mapping[str, Any], code: int, code_from: str) -> None:  # noqa: ARG002
        """The last record."""
        self._print("end", exit_code=code, code_from=code_from, status=document)

    def notice(self, text: str) -> None:
        """Something that is said about this client, not about the run."""
        say(f"grpotui: {text}")

    def _step(self, source: Source, row: int, step: int | None) -> None:
        self._print(
            "step",
            step=step,
            metrics={key: number(value) for key, value in source.logs.metrics(row).items()},
            raw={key: number(value) for key, value in source.logs.raw(row).items()},
        )

    def _print(self, ev: str, **fields: object) -> None:
        self._data.line(json.dumps({"schema": SCHEMA, "ev": ev, **fields}, allow_nan=False))


def _fate(fate: LeftoverEnded) -> dict[str, Any]:
    how = {} if fate.state is None else state_fields(fate.state)
    return {
        "pid": fate.leftover.pid,
        "name": fate.leftover.name,
        "member": fate.leftover.member,
        "ended": fate.state is not None,
        "how": how.get("state"),
        "code": how.get("code"),
        "signal": how.get("signal"),
        "core_dumped": how.get("core_dumped", False),
        "sent": list(fate.sent),
        "reason": fate.reason or how.get("reason"),
    }


def _gpu(change: GpuChange) -> tuple[str, dict[str, Any]]:  # noqa: PLR0911  (one line a kind)
    match change:
        case GpuReturned(record):
            return "gpu_returned", _named(record, "gpu", "seconds", "used_bytes", "baseline_bytes")
        case GpuNotReturned(record):
            names = ("gpu", "reason", "evidence", "final", "seconds", "used_bytes", "baseline_bytes")
            return "gpu_not_returned", _named(record, *names)
        case GpuLost(gpu, reason):
            return "gpu_lost", {"gpu": gpu, "reason": reason}
        case GpuFound(gpu):
            return "gpu_found", {"gpu": gpu}
        case XidSeen(record):
            return "xid", _named(record, "gpu", "xid", "name", "severity")
        case NvmlChanged(available, reason):
            return "nvml", {"available": available, "reason": reason}
        case NvmlSilent(seconds):
            return "nvml_silent", {"seconds": seconds}


def _named(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}
