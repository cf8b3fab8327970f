"""Numbers, durations, bytes and states as text for people. Pure; log text and names never reach a terminal raw."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SHORT = {
    "score/mean": "score",
    "reward/mean": "reward",
    "kl/reference": "kl",
    "entropy": "ent",
    "clip_ratio": "clip",
    "length/mean": "len",
    "length/truncated": "cut",
    "grad_norm": "grad",
    "time/generate": "gen",
    "time/update": "upd",
    "time/step": "time",
}
"""Metrics of a step line, in its order, with the word that stands for each."""


def inert(text: str) -> str:
    """Text without control, escape and bidirectional characters, which a terminal would obey."""
    return "".join(c if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn") else "\ufffd" for c in text)


def number(value: float | str) -> str:
    """Four significant digits; what is not finite by its name."""
    return value if isinstance(value, str) else f"{value:.4g}"


def seconds(value: float | str) -> str:
    """A metric that is a time in seconds, such as 0.31s or 41.2s."""
    return value if isinstance(value, str) else f"{value:.3g}s"


def duration(value: float) -> str:
    """A span: 4s, 12m, 3h05m, 2d04h."""
    whole = int(max(0, value))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def size(count: float | None) -> str:
    """Bytes in binary units; `-` for what is not known."""
    if count is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit in ("B", "KiB") else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Left-aligned columns, two spaces apart."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def step_line(step: int | None, total: int | None, metrics: Mapping[str, float | str]) -> str:
    """`step 12/60 reward 0.41 kl 0.002 …`: only what the framework printed."""
    where = "step ?" if step is None else f"step {step}"
    parts = [where if total is None or step is None else f"{where}/{total}"]
    for key, word in SHORT.items():
        if key in metrics:
            value = metrics[key]
            parts.append(f"{word} {seconds(value) if key.startswith('time/') else number(value)}")
    return " ".join(parts)


def ending(member: Mapping[str, Any]) -> str:
    """How a member is or ended, in words: `exited 0`, `killed by SIGSEGV (core dumped)`, `lost: …`."""
    match member["state"]:
        case "exited":
            return f"exited {member['code']}"
        case "killed":
            return f"killed by {member['signal']}" + (" (core dumped)" if member["core_dumped"] else "")
        case "failed_to_start":
            return f"not started: {inert(str(member['reason']))}"
        case "lost" | "not_observable" as state:
            return f"{state.replace('_', ' ')}: {member['reason']}"
        case state:
            return str(state)


def member_name(member: Mapping[str, Any]) -> str:
    """`rank 3`, `driver`, `companion judge`, or a worker's class."""
    if member["role"] == "rank":
        return f"rank {member['rank']}"
    if member["role"] == "driver":
        return "driver"
    return f"{inert(str(member['role']))} {member['member']}"


def verdict_line(document: Mapping[str, Any]) -> str:
    """The end of a run in one sentence."""
    verdict, first = document["verdict"], document["first_failure"]
    if verdict is None:
        return str(document["state"])
    complete = "training complete, then " if document["training_complete"] and verdict != "passed" else ""
    if first is not None:
        how = {**first, "state": first["how"]}
        name = f"rank {first['rank']}" if first["rank"] is not None else first["member"]
        what = "left early (exit 0)" if first["how"] == "left_early" else ending(how)
        before = first["seconds_before_next"]
        gap = f", {before:.3g} s before the next" if before is not None else ""
        return f"{verdict}: {complete}{name} {what}{gap}"
    return {
        "passed": "passed: every rank exited 0",
        "stopped": f"stopped: {complete}a stop was asked for, and no rank had failed before",
        "unknown": f"unknown: {complete}at least one rank's exit was not seen",
    }.get(verdict, str(verdict))


def status_lines(document: Mapping[str, Any]) -> list[str]:
    """A status document as text."""
    state = document["state"]
    lines = [f"{document['run']}  {state if document['verdict'] is None else state + ', ' + verdict_line(document)}"]
    if document["supervision"] and document["supervision"]["place"] != "here":
        lines.append(f"seen from {document['supervision']['place']}: as last recorded, and it cannot be controlled")
    if document["step"] is not None:
        lines.append(step_line(document["step"], document["steps_total"], document["metrics"]))
    elif state in ("starting", "running"):
        lines.append("no step in the log yet")
    lines += _member_table(document)
    lines += [f"leftover pid {x['pid']} {inert(x['name'])}" for x in document["leftovers"]]
    lines += [f"no monitor ran for {gap['seconds']:.1f} s" for gap in document["monitor"]["gaps"]]
    lines += [f"{f['severity'].upper()} {f['id']}: {f['evidence']}; {f['next']}" for f in document["findings"]]
    if document["gpu_unavailable"]:
        lines.append(f"gpus: unavailable ({document['gpu_unavailable']})")
    return lines


def _member_table(document: Mapping[str, Any]) -> list[str]:
    rows = [
        (
            member_name(m),
            "-" if m["pid"] is None else str(m["pid"]),
            ending(m),
            " ".join(m["sent"]) or "-",
            "nothing yet" if m["output_age_s"] is None else f"{duration(m['output_age_s'])} ago",
            size(m["rss_bytes"] if m["rss_bytes"] is not None else m["max_rss_bytes"]),
        )
        for m in document["ranks"]
    ]
    return table(("member", "pid", "state", "sent by grpotui", "last output", "memory"), rows) if rows else []
