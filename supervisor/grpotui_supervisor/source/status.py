"""The status document of a run: the one form in which its state is shown, printed and compared.

`SCHEMA` and `schemas/status.schema.json` go together. Nothing unknown is ever shown as 0: it is null, or absent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.model.members import (
    Exited,
    FailedToStart,
    Killed,
    Lost,
    Member,
    MemberState,
    NotObservable,
    Running,
    Starting,
)
from grpotui_supervisor.model.run_state import FirstFailure, RunState, phase, verdict
from grpotui_supervisor.source import probed
from grpotui_supervisor.source.attached import attached_fields
from grpotui_supervisor.source.expectation import expectation
from grpotui_supervisor.source.gpu_fields import gpu_fields, leftover_fields, member_gpu_fields
from grpotui_supervisor.source.growth import growth_fields
from grpotui_supervisor.source.host_fields import host_fields, oom_fields
from grpotui_supervisor.source.liveness import View, settle
from grpotui_supervisor.source.memory import memory_line_fields
from grpotui_supervisor.source.progress_fields import (
    age,
    checkpoint_list,
    disk_fields,
    now,
    phase_fields,
    progress_fields,
)

if TYPE_CHECKING:
    from grpotui_supervisor.model.finding import Finding
    from grpotui_supervisor.source.source import Source

SCHEMA = 1


def status(source: Source, view: View | None = None) -> dict[str, Any]:
    """The document, as of the source's last update.

    With a `view` (live) the supervisors' own state is in it, and ends that nobody recorded are looked up; without one
    (replay at a moment) it holds what was on record then.
    """
    run = source.run if view is None else settle(source.run, view)
    return {
        "schema": SCHEMA,
        "run": source.directory.run_id,
        "directory": source.directory.path,
        "as_of": _as_of(source),
        "framework": source.logs.framework,
        "state": phase(run),
        "verdict": verdict(run),
        "training_complete": source.logs.training_complete,
        "stop_asked": run.stop_asked,
        "plan": None if run.plan is None else {"kind": run.plan.kind, "signal": run.plan.signal, "why": run.plan.why},
        "hold": run.hold,
        "attached": attached_fields(source),
        "shim": None if run.shim is None else {"worker": run.shim.worker, "guard": run.shim.guard},
        "supervision": None if view is None else _supervision(view, run),
        "monitor": _monitor(source, view),
        "ranks": [_member(source, m) for m in sorted(run.members.values(), key=_order)],
        "first_failure": _first_failure(run),
        "leftovers": [leftover_fields(source, left) for left in run.leftovers.values()] if run.ranks_done else [],
        "step": source.logs.step,
        "steps_total": source.logs.steps_total,
        **phase_fields(source),
        "progress": progress_fields(source),
        "expect": _expect(source, run),
        "metrics": {key: number(value) for key, value in sorted(source.logs.latest_metrics().items())},
        **probed.fields(source.probes, now(source)),
        "engines": _engines(source),
        "checkpoints": checkpoint_list(source),
        "disk": disk_fields(source),
        **gpu_fields(source),
        "host": host_fields(source),
        "memory_lines": memory_line_fields(source),
        **growth_fields(source),
        "findings": [finding_fields(f) for f in source.findings.values()],
    }


def number(value: float) -> float | str:
    """JSON has no word for what is not finite: those are the strings nan, inf and -inf."""
    return value if math.isfinite(value) else str(value)


def state_fields(state: MemberState) -> dict[str, Any]:  # noqa: PLR0911  (one line a case)
    """A member's state as fields: `state`, and what belongs to it."""
    match state:
        case Starting():
            return {"state": "starting"}
        case Running():
            return {"state": "running"}
        case Exited(code):
            return {"state": "exited", "code": code, "signal": None, "core_dumped": False}
        case Killed(signal, _, core_dumped):
            return {"state": "killed", "code": None, "signal": signal, "core_dumped": core_dumped}
        case FailedToStart(errno, error):
            return {"state": "failed_to_start", "errno": errno, "reason": error}
        case Lost(reason):
            return {"state": "lost", "reason": reason}
        case NotObservable(reason):
            return {"state": "not_observable", "reason": reason}


def finding_fields(found: Finding) -> dict[str, Any]:
    """A finding as it stands in every JSON output."""
    names = ("id", "severity", "step", "member", "evidence", "threshold", "next")
    return {name: getattr(found, name) for name in names}


def _order(member: Member) -> tuple[int, int, int, str]:
    kind = {"driver": 0, "rank": 1}.get(member.role, 2)
    return kind, member.rank if member.rank is not None else -1, member.start or 0, member.key


def _as_of(source: Source) -> dict[str, Any]:
    moment = source.as_of if source.as_of is not None else source.last_m
    offset = None if moment is None or source.start_m is None else (moment - source.start_m) / 1e9
    return {"offset_s": offset, "m": moment}


def _supervision(view: View, run: RunState) -> dict[str, Any]:
    return {
        "shim_alive": view.shim_alive,
        "guard_lost": run.guard_lost,
        "takeovers": run.takeovers,
        "place": view.place,
        "can_control": view.can_control,
    }


def _monitor(source: Source, view: View | None) -> dict[str, Any]:
    start = source.start_m or 0
    gaps = [{"offset_s": (begin - start) / 1e9, "seconds": (end - begin) / 1e9} for begin, end in source.logs.gaps]
    return {"alive": None if view is None else view.monitor_alive, "gaps": gaps}


def _member(source: Source, member: Member) -> dict[str, Any]:
    sample = source.samples.get(member.key) if member.is_open else None
    found = source.probes.phase_of(member.folder)
    return {
        "rank": member.rank,
        "member": member.key,
        "node": member.node,
        "role": member.role,
        "owned": member.owned,
        "pid": member.pid,
        **state_fields(member.state),
        "sent": list(member.sent),
        "output_age_s": age(source, source.logs.last_output_m(member.key)),
        "phase": None if found is None else found.word,
        "ended_offset_s": None
        if member.ended_m is None or source.start_m is None
        else (member.ended_m - source.start_m) / 1e9,
        "rss_bytes": None if sample is None else sample.rss_bytes,
        "cpu_percent": None if sample is None else sample.cpu_percent,
        **member_gpu_fields(source, member),
        "max_rss_bytes": member.max_rss_bytes,
        "oom": oom_fields(source, member),
    }


def _engines(source: Source) -> list[dict[str, Any]]:
    """The newest numbers of each rollout engine."""
    return [
        {
            "engine": name,
            "metrics": {key: number(value) for key, value in sorted(latest.values.items())},
            "step": latest.step,
            "age_s": age(source, latest.m),
        }
        for name, latest in source.logs.engines.latest.items()
    ]


def _expect(source: Source, run: RunState) -> dict[str, Any] | None:
    """`met` is null until the run has its verdict: before that the steps may still come."""
    wanted = expectation(source)
    if wanted is None:
        return None
    return {"steps": wanted.steps, "met": None if verdict(run) is None else wanted.is_met}


def _first_failure(run: RunState) -> dict[str, Any] | None:
    first = run.first_failure
    if first is None:
        return None
    how = {"how": "left_early"} if first.state is None else state_fields(first.state)
    how["how"] = how.pop("state", "left_early")
    return {"rank": first.rank, "member": first.member, **how, "seconds_before_next": _seconds_before_next(run, first)}


def _seconds_before_next(run: RunState, first: FirstFailure) -> float | None:
    """Until the next rank or driver ended, whatever its end; None while none has."""
    later = [
        m.ended_m - first.m
        for m in run.members.values()
        if m.ended_m is not None
        and m.ended_m >= first.m
        and m.key != first.member
        and m.pid is not None
        and (m.leads or not m.owned)
    ]
    return min(later) / 1e9 if later else None
