"""What is said of GPUs in a line: whether each is back, what happened to one, what a process holds. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from grpotui.text import duration, size
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_REASONS = {
    "held_by_ours": "held by this run",
    "held_by_other": "held by others",
    "held_invisible": "held by nobody visible here",
    "baseline_moved": "the baseline itself has moved",
    "residue": "a residue",
    "unverifiable": "cannot be verified",
    "lost": "the device is lost",
}
_LOOK_AT = {"job": "look at the program first", "gpu": "the device or its driver", "note": "it follows a kill"}


def return_lines(document: Mapping[str, Any]) -> list[str]:
    """For each device of the run whether it is back at its baseline; one line for all that are."""
    mine = [gpu for gpu in document["gpus"] if gpu["in_run"]]
    if document["attached"] is not None or not mine:
        return []
    back = [gpu for gpu in mine if gpu["returned"]]
    lines = [_back(back)] if back else []
    lines += word_lines(mine)
    unknown = [gpu["gpu"] for gpu in mine if gpu["returned"] is None]
    return lines + ([_unknown(document, unknown)] if unknown else [])


def change_line(change: GpuChange) -> str:  # noqa: PLR0911  (one line a kind)
    """One line for a change."""
    match change:
        case GpuReturned(record):
            return _is_back(record.gpu, record.baseline_bytes, record.seconds)
        case GpuNotReturned(record):
            return _is_not_back(record.gpu, record.reason, record.evidence, final=record.final)
        case GpuLost(gpu, reason):
            return f"GPU {gpu} is lost: {reason}"
        case GpuFound(gpu):
            return f"GPU {gpu} answers again"
        case XidSeen(record):
            return f"GPU {record.gpu}: {xid_words(record.xid, record.name)}; {_LOOK_AT[record.severity]}"
        case NvmlChanged(available, reason):
            return "NVML can be used again" if available else f"NVML cannot be used any more: {reason}"
        case NvmlSilent(seconds):
            return f"NVML has not answered for {duration(seconds)}" if seconds else "NVML answers again"


def names(keys: Sequence[str]) -> str:
    """`GPU 3`, `GPUs 0-7`, `GPUs 0, 2-3`, `GPUs 0:1, 0:2`."""
    runs: list[list[str]] = []
    for before, key in pairwise(["", *keys]):
        follows = before.isdecimal() and key.isdecimal() and int(key) == int(before) + 1
        if follows:
            runs[-1].append(key)
        else:
            runs.append([key])
    words = [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"GPU{'s' if len(keys) > 1 else ''} {', '.join(words)}"


def held(left: Mapping[str, Any]) -> str:
    """What a leftover holds of the devices, as last listed; empty where none lists it."""
    if not left["gpus"]:
        return ""
    return f", holds {told(left['gpu_bytes'])} on {names(left['gpus'])}"


def told(used: int | None) -> str:
    """Bytes that the driver tells, or that it does not."""
    return "a size that the driver does not tell" if used is None else size(used)


def xid_words(number: int, name: str | None) -> str:
    """`Xid 79 (GPU has fallen off the bus)`."""
    return f"Xid {number}" + (f" ({name})" if name else "")


def _back(gpus: Sequence[Mapping[str, Any]]) -> str:
    if len(gpus) == 1:
        return _is_back(gpus[0]["gpu"], gpus[0]["baseline_bytes"], gpus[0]["returned_s"])
    most = max(gpu["returned_s"] for gpu in gpus)
    return (
        f"{names([gpu['gpu'] for gpu in gpus])} are back at their baseline, "
        f"at most {_seconds(most)} after the last process ended"
    )


def _is_back(gpu: str, baseline: int | None, seconds: float) -> str:
    level = "" if baseline is None else f" ({size(baseline)})"
    return f"GPU {gpu} is back at its baseline{level}, {_seconds(seconds)} after the last process ended"


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 60 else duration(value)


def word_lines(gpus: Iterable[Mapping[str, Any]]) -> list[str]:
    """Of those that are not back."""
    return [
        _is_not_back(gpu["gpu"], gpu["reason"], gpu["evidence"], final=gpu["final"])
        for gpu in gpus
        if gpu["returned"] is False
    ]


def _is_not_back(gpu: str, reason: str, evidence: str, *, final: bool) -> str:
    what = "is not back" if final else "is still releasing"
    return f"GPU {gpu} {what}, {_REASONS[reason]}: {evidence}"


def _unknown(document: Mapping[str, Any], keys: Sequence[str]) -> str:
    what = f"whether {names(keys)} {'are' if len(keys) > 1 else 'is'} back"
    if document["state"] != "ended":
        return f"{what} cannot be told while processes of the run are alive"
    alive = document["monitor"]["alive"]
    if alive:
        return f"{what} is not known yet; grpotui status {document['run']} tells"
    return f"{what} was not on record then" if alive is None else f"{what} was not seen: nobody watched to the end"
