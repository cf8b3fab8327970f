"""Sections of the status document that tell where a run is: phase, progress, checkpoints, disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui_supervisor.model.run_state import phase as run_phase
from grpotui_supervisor.source.phase import phase_now
from grpotui_supervisor.source.progress import Rate, observed_rate, printed_rate, seconds_left

if TYPE_CHECKING:
    from grpotui_supervisor.logs.checkpoints import Checkpoint
    from grpotui_supervisor.source.metrics import Metrics
    from grpotui_supervisor.source.probes import Saved
    from grpotui_supervisor.source.source import Source

_STEP_TIME = "time/step"
_SHOWN_CHECKPOINTS = 20
_PRINTED = 60


def now(source: Source) -> int | None:
    """The source's own moment; that of its last record where it has taken in everything."""
    return source.as_of if source.as_of is not None else source.last_m


def age(source: Source, moment: int | None) -> float | None:
    """Seconds from a moment to the source's own; None where one of them is not known."""
    end = now(source)
    return None if moment is None or end is None else round(max(0, end - moment) / 1e9, 3)


def phase_fields(source: Source) -> dict[str, Any]:
    """`phase`, `phase_from` and `phase_since_offset_s`: all null where nobody tells."""
    found, start = phase_now(source), source.start_m
    since = None if found is None or found.m is None or start is None else (found.m - start) / 1e9
    return {
        "phase": None if found is None else found.name,
        "phase_from": None if found is None else found.told_by,
        "phase_since_offset_s": since,
    }


def progress_fields(source: Source) -> dict[str, Any]:
    """Step, total, seconds a step, seconds left, and the age of the last line of the log with the metrics."""
    logs = source.logs
    rate = observed_rate(logs.columns.steps, logs.moments) if logs.columns is not None else None
    rate = rate or printed_rate(_printed(logs))
    found = _progress(logs, rate)
    running = run_phase(source.run) == "running" and not logs.training_complete
    last = next((m for m in reversed(logs.moments) if m >= 0), None)
    left = seconds_left(found["step"], found["steps_total"], rate, since_step_s=age(source, last))
    return {
        **found,
        "eta_s": round(left, 1) if running and left is not None else None,
        "last_line_age_s": age(source, logs.last_output_m(logs.metrics_member)),
    }


def logs_progress(logs: Metrics, rows: int | None = None) -> dict[str, Any]:
    """The same as far as a log alone tells: no time is left of a log, and nobody knows how old its lines are."""
    return _progress(logs, printed_rate(_printed(logs, rows)), rows)


def _progress(logs: Metrics, rate: Rate | None, rows: int | None = None) -> dict[str, Any]:
    """`restarted_at`: the steps at which the training begins again, of a resumed run or of two in one log."""
    restarts = () if logs.columns is None else logs.columns.restarts
    return {
        "restarted_at": [step for row, step in restarts if rows is None or row < rows],
        "step": logs.step,
        "steps_total": logs.steps_total,
        "rate_s_per_step": None if rate is None else round(rate.seconds, 4),
        "rate_from": None if rate is None else rate.told_by,
        "eta_s": None,
        "last_line_age_s": None,
    }


def _printed(logs: Metrics, rows: int | None = None) -> list[float]:
    """The step times among the last records."""
    end = logs.steps if rows is None else rows
    found = (logs.metrics(row).get(_STEP_TIME) for row in range(max(0, end - _PRINTED), end))
    return [value for value in found if value is not None]


def checkpoint_list(source: Source) -> list[dict[str, Any]]:
    """The last checkpoints, newest first, each with what makes it complete or not.

    The trainer's own word, which the hook records, comes before the log's, and that before the disk's.
    """
    saved = {one.step: one for one in source.probes.checkpoints}
    found = [
        _saved(source, saved.pop(one.step)) if one.step in saved else _checkpoint(source, one)
        for one in source.logs.checkpoints.found
    ]
    found += [_saved(source, one) for one in saved.values()]
    found.sort(key=lambda fields: fields["began_offset_s"] or 0.0, reverse=True)
    return found[:_SHOWN_CHECKPOINTS]


def _saved(source: Source, one: Saved) -> dict[str, Any]:
    """`began_offset_s` is when it was done: the hook is told then."""
    return {
        "step": one.step,
        "path": one.path,
        "complete": True,
        "evidence": "the trainer said that it was saved",
        "parts": [],
        "began_offset_s": None if source.start_m is None else (one.m - source.start_m) / 1e9,
    }


def _checkpoint(source: Source, one: Checkpoint) -> dict[str, Any]:
    start, fields = source.start_m, checkpoint_fields(one)
    if one.began_m is not None and start is not None:
        fields["began_offset_s"] = (one.began_m - start) / 1e9
    looked = source.looked_at.get(one.path)
    if one.evidence is None and looked is not None and looked["m"] >= (one.began_m or 0):
        fields.update({key: looked[key] for key in ("complete", "evidence")})
    return fields


def checkpoint_fields(one: Checkpoint, rows: int | None = None) -> dict[str, Any]:
    """A checkpoint as its log alone tells it, as of its first `rows` records."""
    evidence = one.evidence if rows is None or one.rows_then <= rows else None
    return {
        "step": one.step,
        "path": one.path,
        "complete": True if evidence else None,
        "evidence": evidence,
        "parts": sorted(one.parts),
        "began_offset_s": None,
    }


def disk_fields(source: Source) -> dict[str, Any] | None:
    """The file system of the checkpoints, as last recorded."""
    record = source.disk
    if record is None:
        return None
    return {key: record[key] for key in ("path", "free_bytes", "total_bytes")} | {"age_s": age(source, record["m"])}
