"""One run among all of a machine, as a value that the start screen draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpotui.text import PHASES, inert, verdict_line

if TYPE_CHECKING:
    from collections.abc import Mapping

_REWARDS: Final = ("reward/mean", "score/mean")
_OPEN: Final = frozenset({"starting", "running", "stopping", "draining", "unsupervised"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """What is known of a run; None is what is not."""

    run: str
    path: str
    state: str | None = None
    """That of the status document; `unreadable` where the run cannot be read."""
    verdict: str | None = None
    words: str = ""
    """How it is or ended, in words: its phase, its verdict, or why it cannot be read."""
    framework: str | None = None
    ranks: int = 0
    began_t: float | None = None
    took_s: float | None = None
    """From its start to the end of its last rank."""
    step: int | None = None
    steps_total: int | None = None
    reward: tuple[str, float | str] | None = None
    """Name and last value."""
    eta_s: float | None = None
    line_age_s: float | None = None
    findings: int = 0
    critical: int = 0
    attached: bool = False
    can_stop: bool = False
    logs: str | None = "its log was not read yet"
    """Why steps and reward are not known; None: its log was read."""

    @property
    def is_live(self) -> bool:
        """Whether something of it may still happen."""
        return self.state in _OPEN or (self.attached and self.state is None)


def row_of(document: Mapping[str, Any], began_t: float | None, logs: str | None) -> RunRow:
    """A status document as a row."""
    reward = next(((key, document["metrics"][key]) for key in _REWARDS if key in document["metrics"]), None)
    supervision, attached = document["supervision"], document["attached"] is not None
    own = [member for member in document["ranks"] if member["role"] in ("rank", "driver")]
    state = document["state"]
    if attached and document["attached"]["following_ended"] is not None:
        state = "ended"
    return RunRow(
        run=document["run"],
        path=document["directory"],
        state=state,
        verdict=document["verdict"],
        words=inert(_words(document)),
        framework=document["framework"],
        ranks=len(own),
        began_t=began_t,
        took_s=_took(document),
        step=document["step"],
        steps_total=document["steps_total"],
        reward=reward,
        eta_s=document["progress"]["eta_s"],
        line_age_s=document["progress"]["last_line_age_s"],
        findings=len(document["findings"]),
        critical=sum(1 for found in document["findings"] if found["severity"] == "critical"),
        attached=attached,
        can_stop=supervision is not None and supervision["can_control"] and not attached and state in _OPEN,
        logs=logs,
    )


def unreadable(run: str, path: str, reason: str) -> RunRow:
    """A run that cannot be read is said, not left out."""
    return RunRow(run=run, path=path, state="unreadable", words=inert(reason), logs=None)


def _took(document: Mapping[str, Any]) -> float | None:
    ends = [member.get("ended_offset_s") for member in document["ranks"]]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def _words(document: Mapping[str, Any]) -> str:
    attached = document["attached"]
    if document["verdict"] is not None:
        return verdict_line(document)
    if attached is not None and attached["following_ended"] is not None:
        return f"a job that grpotui did not start; followed no more: {attached['following_ended']}"
    if document["phase"] is not None and document["state"] != "ended":
        return " and ".join(PHASES.get(part, part) for part in str(document["phase"]).split(" + "))
    if attached is not None:
        return "a job that grpotui did not start"
    return "" if document["state"] in _OPEN else verdict_line(document)
