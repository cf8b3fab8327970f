"""Why a panel has nothing to show, in words."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from grpotui.text import duration, phase_line
from grpotui_supervisor.logs.catalog import SAME_AS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui.tui.feed.frame import Frame


def no_points(metric: str, frame: Frame, facts: Mapping[str, Any]) -> str:
    """Of a chart: what is being waited for, or what is known of why the run does not print it."""
    if not frame.rows:
        return no_step(frame)
    framework = frame.document["framework"] or ""
    if metric.startswith("kl/") and SAME_AS.get(framework, framework) == "trl":
        return "beta is 0: no KL is computed" if _beta(facts) == 0 else "TRL prints it with beta above 0"
    return "not printed by this run"


def _beta(facts: Mapping[str, Any]) -> float | None:
    """TRL's weight of the KL, as the profile or the command tells it."""
    profile = facts.get("profile") or {}
    words = [str(word) for word in (profile.get("launch") or {}).get("argv") or ()]
    behind = [after for word, after in pairwise(words) if word == "--beta"]
    told = [word.removeprefix("--beta=") for word in words if word.startswith("--beta=")]
    for text in ((profile.get("training") or {}).get("beta"), *behind, *told):
        with suppress(TypeError, ValueError):
            return float(str(text))
    return None


def no_step(frame: Frame) -> str:
    """While there is no step: what is going on, and since when."""
    document = frame.document
    if frame.reading is not None:
        return "reading…"
    if frame.kind == "log":
        return "no step in this log" if document["framework"] else "no metrics of a known framework in this log"
    if document["state"] == "ended":
        return "it ended before its first step"
    now, phase = (document.get("as_of") or {}).get("offset_s"), document["phase"]
    if phase is None:
        return "no step yet" if now is None else f"no step after {duration(now)}"
    since = document["phase_since_offset_s"]
    age = "" if since is None or now is None else f", {duration(now - since)}"
    return f"{phase_line(phase, None)}{age}"


def cursor_age(document: Mapping[str, Any], offset: float | None) -> str:
    """`, 12s ago` as of the cursor; empty where that is not known."""
    now = (document.get("as_of") or {}).get("offset_s")
    return "" if offset is None or now is None else f", {duration(now - offset)} ago"
