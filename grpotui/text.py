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

_ENOENT = 2
_OBEYED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def inert(text: str) -> str:
    """Text without control, escape and bidirectional characters, which a terminal would obey."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in _OBEYED else c for c in text)


def inert_lines(text: str) -> str:
    """The same for a text of several lines."""
    return text if text.isprintable() else "\n".join(inert(line) for line in text.split("\n"))


def number(value: float | str) -> str:
    """Four significant digits; what is not finite by its name."""
    return value if isinstance(value, str) else f"{value + 0.0:.4g}"  # -0 is 0


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
    same = metrics.get("score/mean") == metrics.get("reward/mean")  # no KL penalty in the reward: one number
    for key, word in SHORT.items():
        if key in metrics and not (same and key == "score/mean"):
            value = metrics[key]
            parts.append(f"{word} {seconds(value) if key.startswith('time/') else number(value)}")
    return " ".join(parts)


PHASES = {
    "load_model": "loading the model",
    "load_checkpoint": "loading a checkpoint",
    "start_engine": "starting the rollout engine",
    "capture_graphs": "capturing CUDA graphs",
    "first_step": "the first step is under way",
    "generate": "generating",
    "reward": "computing rewards",
    "logprob": "computing log probabilities",
    "reference": "computing reference log probabilities",
    "update": "updating",
    "sync": "syncing weights to the engine",
    "validate": "validating",
    "save": "saving a checkpoint",
    "complete": "training complete",
}


def phase_line(phase: str, told_by: str | None) -> str:
    """`loading the model (from the log)`; several at once in their order."""
    words = " and ".join(PHASES.get(part, part) for part in phase.split(" + "))
    return words if told_by is None else f"{words} (from the {told_by})"


def progress_line(progress: Mapping[str, Any], now: float | None, since: float | None, told: str | None) -> str | None:
    """`3.1 s/step · ETA 25s · last line 2s ago · …`; None where none of it is known."""
    parts = [] if told is None else [told + ("" if now is None or since is None else f" for {duration(now - since)}")]
    if progress["rate_s_per_step"] is not None:
        printed = " (as printed)" if progress["rate_from"] == "printed" else ""
        parts.append(f"{progress['rate_s_per_step']:.3g} s/step{printed}")
    if progress["eta_s"] is not None:
        parts.append(f"ETA {duration(progress['eta_s'])}")
    if progress["last_line_age_s"] is not None:
        parts.append(f"last line {duration(progress['last_line_age_s'])} ago")
    return " · ".join(parts) or None


def restart_lines(progress: Mapping[str, Any]) -> list[str]:
    """Where the training began again; of what was done twice the later counts."""
    again = progress["restarted_at"]
    return [f"began again at step {', '.join(map(str, again[-_RESTARTS:]))}"] if again else []


def engine_line(engine: Mapping[str, Any]) -> str:
    """A rollout engine: KV cache, requests, speed, as far as it has told."""
    words = [
        f"{word} {100 * value:.3g} %"
        if key == "engine/kv_cache" and not isinstance(value, str)
        else f"{word} {number(value)}"
        for key, word in _ENGINE.items()
        if (value := engine["metrics"].get(key)) is not None
    ]
    age = "" if engine["age_s"] is None else f", {duration(engine['age_s'])} ago"
    return f"engine {engine['engine']}: {', '.join(words) or 'started'}{age}"


_ENGINE = {
    "engine/kv_cache": "KV cache",
    "engine/running": "running",
    "engine/waiting": "waiting",
    "engine/preemptions": "preemptions",
    "engine/tokens_per_s": "tokens/s",
}
_RESTARTS = 5
"""The last of them that are named."""
_ENGINE_LINES = 4


def checkpoint_line(checkpoint: Mapping[str, Any]) -> str:
    """The last checkpoint: its step, where it is, and whether it is known to be complete."""
    step = "" if checkpoint["step"] is None else f" of step {checkpoint['step']}"
    word = {True: "complete", False: "not complete", None: "not known to be complete"}[checkpoint["complete"]]
    why = f" ({checkpoint['evidence']})" if checkpoint["evidence"] else ""
    return f"checkpoint{step}: {word}{why}, {checkpoint['path']}"


def disk_line(disk: Mapping[str, Any]) -> str:
    """What is left where checkpoints go."""
    return f"disk of {disk['path']}: {size(disk['free_bytes'])} of {size(disk['total_bytes'])} free"


def ending(member: Mapping[str, Any]) -> str:
    """How a member is or ended, in words: `exited 0`, `killed by SIGSEGV (core dumped)`, `lost: …`."""
    match member["state"]:
        case "exited":
            return f"exited {member['code']}"
        case "killed":
            return f"killed by {member['signal']}" + (" (core dumped)" if member["core_dumped"] else "")
        case "failed_to_start":
            return f"not started: {member['reason']}"
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
    return f"{member['role']} {member['member']}"


def oom_line(member: Mapping[str, Any]) -> str:
    """What the OOM-kill counters showed around a member's end; whose death they counted nobody can say."""
    oom = member["oom"]
    kills, whose = (oom["cgroup_kills"], "its cgroup") if oom["cgroup_kills"] else (oom["kernel_kills"], "the machine")
    return f"{member_name(member)}: the OOM-kill counter of {whose} rose by {kills} around its end"


def member_word(member: str) -> str:
    """`rank 3` for the member that is named `3`; the others by their name."""
    return f"rank {member}" if member.isdecimal() else member


def finding_line(found: Mapping[str, Any]) -> str:
    """A finding: what was seen, against which limit, and what to look at next."""
    step = f" at step {found['step']}" if found["step"] is not None else ""
    return (
        f"{found['severity'].upper()} {found['id']}{step}: {found['evidence']} "
        f"(limit: {found['threshold']}). Next: {found['next']}"
    )


def verdict_line(document: Mapping[str, Any]) -> str:
    """The end of a run in one sentence."""
    verdict, first = document["verdict"], document["first_failure"]
    if verdict is None:
        return str(document["state"]) if document["attached"] is None else "the job's end is not known"
    complete = "training complete, then " if document["training_complete"] and verdict != "passed" else ""
    if first is not None:
        return f"{verdict}: {complete}{_failure(first)}{_others(document)}"
    return {
        "passed": "passed: every rank exited 0",
        "stopped": f"stopped: {complete}a stop was asked for, and no rank had failed before",
        "unknown": f"unknown: {complete}at least one rank's exit was not seen"
        if document["ranks"]
        else "unknown: nothing of it was started",
    }.get(verdict, str(verdict))


def _failure(first: Mapping[str, Any]) -> str:
    name = f"rank {first['rank']}" if first["rank"] is not None else first["member"]
    what = "left early (exit 0)" if first["how"] == "left_early" else ending({**first, "state": first["how"]})
    before = first["seconds_before_next"]
    return f"{name} {what}" + (f", {before:.3g} s before the next" if before is not None else "")


def _others(document: Mapping[str, Any]) -> str:
    """What became of the peers, when they were many: one of them is easily taken for the cause."""
    ended = [m for m in document["ranks"] if m["member"] != document["first_failure"]["member"] and "code" in m]
    own = sum(1 for m in ended if not m["sent"] and m["code"] != 0)
    sent = sum(1 for m in ended if m["sent"])
    parts = [f"{own} failed after it"] if own else []
    parts += [f"{sent} ended by grpotui"] if sent else []
    return f" ({', '.join(parts)})" if parts else ""


def advice(document: Mapping[str, Any]) -> str | None:
    """What to do about a start that failed; other failures explain themselves in the log."""
    first = document["first_failure"]
    if first is None or first["how"] != "failed_to_start":
        return None
    if first["errno"] == _ENOENT:
        return "  `launch --dry-run` shows the words; the interpreter: --set launch.python=/path/to/python"
    return "  `launch --dry-run` shows the words that could not be started"


def unmet(steps: int, shown: int | None) -> str:
    """That a run passed and did less than its profile expects."""
    seen = "no step" if shown is None else f"step {shown}"
    return f"but the profile expects {steps} steps, and the log shows {seen}"


def status_lines(document: Mapping[str, Any]) -> list[str]:
    """A status document as text, without its leftovers and GPUs."""
    lines = [f"{document['run']}  {_headline(document)}", *_circumstances(document), *_followed(document)]
    if document["step"] is not None:
        lines.append(step_line(document["step"], document["steps_total"], document["metrics"]))
    elif document["state"] in ("starting", "running") or document["attached"] is not None:
        lines.append("no step in the log yet")
    lines += _where(document)
    lines += [finding_line(found) for found in document["findings"]]
    lines += _member_table(document)
    lines += [oom_line(m) for m in document["ranks"] if m["oom"] is not None]
    return [inert(line) for line in lines]


def _where(document: Mapping[str, Any]) -> list[str]:
    """Phase, speed and time left, the engines, the last checkpoint: what of them is known."""
    phase, now = document["phase"], document["as_of"]["offset_s"]
    told = None if phase is None else phase_line(phase, document["phase_from"])
    line = progress_line(document["progress"], now, document["phase_since_offset_s"], told)
    engines = document["engines"]
    lines = restart_lines(document["progress"])
    lines += [] if line is None or document["state"] == "ended" else [line]
    lines += [engine_line(engine) for engine in engines[:_ENGINE_LINES]] if document["state"] != "ended" else []
    lines += [checkpoint_line(checkpoint) for checkpoint in document["checkpoints"][:1]]
    return lines + ([] if document["disk"] is None else [disk_line(document["disk"])])


def log_lines(document: Mapping[str, Any]) -> list[str]:
    """The status document of a bare log as text."""
    framework = document["framework"] or "not recognised"
    complete = ", training complete" if document["training_complete"] else ""
    lines = [f"{document['source']}  {framework}, {document['records']} records{complete}"]
    if document["records"]:
        lines.append(step_line(document["step"], document["steps_total"], document["metrics"]))
        lines += restart_lines(document["progress"])
    elif document["looks_like"] is not None:
        lines.append(f"no metrics of a known framework in it; it begins with: {document['looks_like']}")
    if document["phase"] not in (None, "complete"):
        lines.append(f"it ends in: {phase_line(document['phase'], None)}")
    lines += [checkpoint_line(checkpoint) for checkpoint in document["checkpoints"][:1]]
    lines.append(f"not in this log: {', '.join(document['not_in_source'])}")
    return [inert(line) for line in lines]


def _headline(document: Mapping[str, Any]) -> str:
    state, offset = document["state"], document["as_of"]["offset_s"]
    if document["verdict"] is not None:
        still = "" if state == "ended" else f"{state}; "
        return still + verdict_line(document)
    if document["attached"] is not None:
        return _attached_headline(document)
    age = "" if offset is None else f", {duration(offset)} after the start"
    return f"{state}{age}"


def _attached_headline(document: Mapping[str, Any]) -> str:
    known = "its process lives" if document["state"] else "whether it runs is not known: no --pid was given"
    ended = document["attached"]["following_ended"]
    return f"a job that grpotui did not start; {known}" + (f"; followed no more: {ended}" if ended else "")


def _followed(document: Mapping[str, Any]) -> list[str]:
    """The logs of an attached job."""
    if document["attached"] is None:
        return []
    return [f"log {log['path']}: {_log_words(log)}" for log in document["attached"]["logs"]]


def _log_words(log: Mapping[str, Any]) -> str:
    words = [size(log["bytes"]) if log["bytes"] is not None else "nothing yet"]
    if log["history_bytes"]:
        words.append(f"{size(log['history_bytes'])} of it from before, without times")
    words += [f"{what} {log[what]} times" for what in ("rotated", "truncated") if log[what]]
    words += [f"{log['reason']}; it is waited for"] if log["state"] == "missing" else []
    words += ["read to its end"] if log["state"] == "read" else []
    return ", ".join([*words, *log["missed"]])


def _circumstances(document: Mapping[str, Any]) -> list[str]:
    """What makes this picture other than that of a run in good order."""
    lines, supervision, expect = [], document["supervision"], document["expect"]
    if document["verdict"] == "passed" and expect is not None and expect["met"] is False:
        lines.append(unmet(expect["steps"], document["step"]))
    if supervision is not None and supervision["place"] != "here":
        lines.append(_PLACES[supervision["place"]])
    if document["state"] == "unsupervised" and document["attached"] is None:
        lines.append("nobody owns its processes any more: how they end may stay unknown; `grpotui stop` ends them")
    if document["plan"] is not None and document["state"] != "ended":
        plan = document["plan"]
        lines.append(f"{plan['signal']} sent ({plan['kind']}: {plan['why']})")
    if document["hold"] is not None:
        lines.append(f"peers are spared: {document['hold']}")
    return lines + [f"no monitor ran for {gap['seconds']:.1f} s" for gap in document["monitor"]["gaps"]]


_PLACES = {
    "elsewhere": "seen from another host: as last recorded, and it cannot be controlled from here",
    "copy": "a copy of its directory: as last recorded, and it cannot be controlled",
    "rebooted": "the host was rebooted since",
    "other namespace": "it ran in another container (pid namespace), and cannot be controlled from here",
}


def _last_output(member: Mapping[str, Any]) -> str:
    if member["output_age_s"] is not None:
        return f"{duration(member['output_age_s'])} ago"
    return "nothing yet" if member["owned"] else "-"  # a launcher's worker prints into the launcher's log


def _member_table(document: Mapping[str, Any]) -> list[str]:
    rows = [
        (
            member_name(m),
            "-" if m["pid"] is None else str(m["pid"]),
            ending(m),
            " ".join(m["sent"]) or "-",
            _last_output(m),
            size(m["rss_bytes"] if m["rss_bytes"] is not None else m["max_rss_bytes"]),
        )
        for m in document["ranks"]
    ]
    return table(("member", "pid", "state", "sent by grpotui", "last output", "memory"), rows) if rows else []
