"""What the status document says of a job that grpotui did not start: its logs, and whether they are followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui_supervisor.source.followed import FollowedLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.source.source import Source


def attached_fields(source: Source) -> dict[str, Any] | None:
    """None for a run that grpotui started."""
    facts = source.facts.get("attached")
    if facts is None:
        return None
    return {
        "following_ended": source.run.following_ended,
        "logs": [_log(source, log) for log in facts["logs"]],
    }


def _log(source: Source, log: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{log['member']}/{log['stream']}.log"
    known = source.followed.logs.get(name, FollowedLog())
    return {
        "path": log["path"],
        "member": log["member"],
        "stream": log["stream"],
        "state": known.state,
        "reason": known.reason,
        "bytes": source.logs.sizes().get(name),
        "history_bytes": known.history_bytes if known.origin is not None else None,
        "rotated": known.rotated,
        "truncated": known.truncated,
        "missed": list(known.missed),
    }
