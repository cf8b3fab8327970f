"""GPUs as text. Pure; what others wrote (names, evidence) is made inert by whoever prints it, or here before wrapping.

"Free" is no word of it: an empty list of processes says that nobody is visible from here.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from grpotui.gpu_words import return_lines, told, word_lines, xid_words
from grpotui.text import duration, inert, member_word, size
from grpotui_supervisor.model.gpu import tolerance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_INDENT = 7
_OLD_S = 15.0
"""An unchanged reading is written again after 10 s; one that is older than this is not of now."""
_SHOWN = 6
"""Processes, and faults, of one device that are named."""
_KINDS = {"v1": " (with what the driver reserves)", "lists": " (sum of the listed processes)"}


def gpu_lines(document: Mapping[str, Any], width: int) -> list[str]:
    """The GPUs of a status document: those of the run, then who is on the others."""
    if document["gpu_unavailable"]:
        return [inert(f"gpus: unavailable ({document['gpu_unavailable']})")]
    if document["state"] == "ended":
        return _wrapped(return_lines(document), width)
    silent = document["gpu_silent_s"]
    lines = [f"NVML has not answered for {duration(silent)}: what is shown of GPUs is older"] if silent else []
    mine = [gpu for gpu in document["gpus"] if gpu["in_run"]]
    lines += _blocks(mine, {m["pid"]: m for m in document["ranks"]}, width)
    return [*lines, *_wrapped([*_torch_lines(document), *_others(document), *word_lines(mine)], width)]


def _blocks(gpus: Sequence[Mapping[str, Any]], ranks: Mapping[int, Mapping[str, Any]], width: int) -> list[str]:
    """A line each, its columns below each other; what does not fit is on the next line, indented."""
    heads = [_head(gpu) for gpu in gpus]
    widths = [max(len(head[column]) for head in heads) for column in range(_COLUMNS)] if heads else []
    lines: list[str] = []
    for gpu, head in zip(gpus, heads, strict=True):
        cells = [
            cell.rjust(room) if column in _NUMBERS else cell.ljust(room)
            for column, (cell, room) in enumerate(zip(head, widths, strict=True))
            if room
        ]
        lines += _filled(cells, [inert(piece) for piece in _pieces(gpu, ranks)], width)
    return lines


_COLUMNS = 7
_NUMBERS = (4, 5, 6)


def _head(gpu: Mapping[str, Any]) -> tuple[str, ...]:
    percent, power, temperature = gpu["utilization_percent"], gpu["power_w"], gpu["temperature_c"]
    fresh = gpu["sample_age_s"] is not None and gpu["sample_age_s"] <= _OLD_S and not gpu["unavailable"]
    return (
        f"GPU {gpu['gpu']}",
        inert(gpu["name"] or "").removeprefix("NVIDIA "),
        "" if gpu["baseline_bytes"] is None else f"baseline {size(gpu['baseline_bytes'])}",
        inert(_now(gpu, fresh=fresh)),
        f"{percent} %" if percent is not None and fresh else "",
        f"{power:.0f} W" if power is not None and fresh else "",
        f"{temperature} °C" if temperature is not None and fresh else "",
    )


def _now(gpu: Mapping[str, Any], *, fresh: bool) -> str:
    used, age = gpu["used_bytes"], gpu["sample_age_s"]
    if age is None:
        return str(gpu["unavailable"])
    total = "" if gpu["total_bytes"] is None else f" of {gpu['total_bytes'] / 2**30:.0f} GiB"
    level = "memory not told" if used is None else f"{size(used)}{total}{_KINDS.get(gpu['kind'], '')}"
    if fresh:
        return level if used is None else f"now {level}"
    why = f"{gpu['unavailable']}; " if gpu["unavailable"] else ""
    return f"{why}{duration(age)} ago: {level}"


def _pieces(gpu: Mapping[str, Any], ranks: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """What stands behind the columns: who is there, and what is wrong."""
    loose = gpu["unattributed_bytes"]
    is_loose = loose is not None and loose > tolerance(gpu["total_bytes"])
    told_of = [one for one in gpu["xids"] if one["severity"] != "note"][-_SHOWN:]
    faults = [f"{xid_words(one['xid'], one['name'])} {duration(one['age_s'] or 0)} ago" for one in told_of]
    found = [f"slowed by {' and '.join(gpu['slowed'])}"] if gpu["slowed"] else []
    if gpu["processes"]:
        found += [_process(process, ranks) for process in gpu["processes"][:_SHOWN]]
        more = len(gpu["processes"]) - _SHOWN
        found += [f"and {more} more"] if more > 0 else []
    elif gpu["processes"] is not None:
        return [*found, f"{size(loose)} held, nobody visible here" if is_loose else "nobody visible here", *faults]
    elif gpu["sample_age_s"] is not None:
        found.append(f"process list: {gpu['processes_reason']}")
    return [*found, *([f"{size(loose)} of nobody listed"] if is_loose else []), *faults]


def _process(process: Mapping[str, Any], ranks: Mapping[int, Mapping[str, Any]]) -> str:
    """`rank 0 (pid 4711) 5.3 GiB`, `python of bob (pid 777, not of this run) 20.1 GiB`."""
    owner, pid, name = process["owner"], process["pid"], process["name"] or "?"
    used = "" if process["used_bytes"] is None else f" {size(process['used_bytes'])}"
    if owner == "unseen":
        return f"pid {pid} (not visible here){used}"
    member = process["member"]
    if owner == "run" and member is not None:
        is_itself = pid in ranks and ranks[pid]["member"] == member
        who = member_word(member) if is_itself else f"{name} of {member_word(member)}"
        return f"{who} (pid {pid}){used}"
    words = {"run": "", "probably": ", probably of this run", "before": ", there before"}
    if owner == "other":
        name, words = f"{name} of {process['user'] or 'another user'}", {"other": ", not of this run"}
    return f"{name} (pid {pid}{words[owner]}){used}"


def _others(document: Mapping[str, Any]) -> list[str]:
    """Who is on the machine's other devices."""
    parts = [_other(gpu) for gpu in document["gpus"] if not gpu["in_run"] and _is_used(gpu)]
    return [f"also here: {'; '.join(parts)}"] if parts else []


def _is_used(gpu: Mapping[str, Any]) -> bool:
    loose = gpu["unattributed_bytes"]
    lists = any(process["type"] != "graphics" for process in gpu["processes"] or ())
    return lists or (loose is not None and gpu["kind"] == "v2" and loose > tolerance(gpu["total_bytes"]))


def _other(gpu: Mapping[str, Any]) -> str:
    who = [_process(process, {}) for process in gpu["processes"] if process["type"] != "graphics"][:_SHOWN]
    return f"GPU {gpu['gpu']} {', '.join(who) or size(gpu['used_bytes']) + ' used, nobody visible here'}"


def _torch_lines(document: Mapping[str, Any]) -> list[str]:
    """Readings of torch's allocator beside the driver's: three numbers, of which none contains another for certain.

    Of those that live only: what an allocator held when its process ended is held no more, and is no leak.
    """
    logged: dict[str, Mapping[str, Any]] = {}
    for line in document.get("memory_lines", ()):
        before = logged.get(line["member"])
        if before is None or (line["age_s"] or 0) <= (before["age_s"] or 0):
            logged[line["member"]] = line
    alive = {member["member"] for member in document["ranks"] if member["state"] in ("starting", "running")}
    own = [_torch_line(document, found) for found in document["torch_memory"] if found["member"] in alive]
    return own + [_logged_line(found) for member, found in logged.items() if member in alive]


def _logged_line(found: Mapping[str, Any]) -> str:
    """The newest line of a log that tells memory; its driver's number is of the whole device."""
    age = "" if found["age_s"] is None else f", {duration(found['age_s'])} ago"
    driver = found["device_used_bytes"]
    told = "" if driver is None else f", driver {size(driver)} on the whole device"
    return (
        f"{member_word(found['member'])}, in the log at {found['label']!r}{age}: "
        f"torch allocated {size(found['allocated_bytes'])}, torch reserved {size(found['reserved_bytes'])}{told}"
    )


def _torch_line(document: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    age = "" if found["age_s"] is None or found["age_s"] <= _OLD_S else f", {duration(found['age_s'])} ago"
    driver = [
        f"driver {told(process['used_bytes'])} on GPU {gpu['gpu']}"
        for gpu in document["gpus"]
        for process in gpu["processes"] or ()
        if process["pid"] == found["pid"] and process["owner"] == "run"
    ]
    return (
        f"{member_word(found['member'])} (pid {found['pid']}): torch allocated {size(found['allocated_bytes'])}, "
        f"reserved {size(found['reserved_bytes'])}{age}; {', '.join(driver) or 'driver: not listed'}"
    )


def _filled(cells: Sequence[str], pieces: Sequence[str], width: int) -> list[str]:
    """The cells, and behind them the pieces if all of them fit there; else below them, broken only between pieces."""
    head, behind = "  ".join(cells).rstrip(), " · ".join(pieces)
    if len(head) + 2 + len(behind) <= width or not pieces:
        return ["  ".join(filter(None, (head, behind)))]
    lines = [" " * _INDENT + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + 3 + len(piece) > width:
            lines.append(" " * _INDENT + piece)
        else:
            lines[-1] += f" · {piece}"
    return [head, *lines]


def _wrapped(lines: Iterable[str], width: int) -> list[str]:
    """At words; what is longer than a line stays whole."""
    return [
        part
        for line in lines
        for part in textwrap.wrap(
            inert(line), max(20, width), subsequent_indent=" " * _INDENT, break_long_words=False, break_on_hyphens=False
        )
    ]
