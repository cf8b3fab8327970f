"""The plain front end: one line a step on stdout; exits, signals and findings on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui import last_words
from grpotui.gpu_words import change_line, return_lines
from grpotui.leftover_text import fate_line, leftover_line
from grpotui.output import Data, say
from grpotui.text import (
    advice,
    ending,
    finding_line,
    inert,
    member_name,
    phase_line,
    step_line,
    verdict_line,
)
from grpotui_supervisor.logs.phases import FIRST_STEP, STARTING
from grpotui_supervisor.model.members import Running
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
from grpotui_supervisor.source.gpu_changes import GpuChange, GpuNotReturned, GpuReturned, XidSeen
from grpotui_supervisor.source.gpu_fields import leftover_fields
from grpotui_supervisor.source.status import finding_fields, number, state_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.model.members import Member
    from grpotui_supervisor.source.source import Source

TOLD = (*STARTING, FIRST_STEP, "validate", "save")
"""Phases that are worth a line: they last, and nothing else is printed meanwhile. The others change several times a
step."""
_UNSUPERVISED = "the shim is gone: nobody owns the processes of the run any more; grpotui stop ends them"


class Plain:
    """Prints changes as they come."""

    def __init__(self) -> None:
        self._data = Data()
        self._releasing: set[str] = set()

    def begin(self, source: Source) -> None:
        """Says which run this is."""
        say(f"run {source.directory.run_id}")
        if source.run.attached:
            say("not started by grpotui: its logs are followed from their beginning, and nothing is sent to it")

    def show(self, source: Source, changes: list[Change]) -> None:
        """One line for each change."""
        for change in changes:
            match change:
                case Stepped(row, step):
                    metrics = {key: number(value) for key, value in source.logs.metrics(row).items()}
                    self._data.line(inert(step_line(step, source.logs.steps_total, metrics)))
                case _:
                    text = self._words(source, change)
                    if text:
                        say(text)

    def end(self, source: Source, document: Mapping[str, Any], code: int, code_from: str) -> None:  # noqa: ARG002
        """The verdict, and what a person would look at next."""
        for line in last_words.of_first_failure(source, document):
            say(line)
        say(verdict_line(document))
        for line in return_lines(document):
            say(line)
        next_step = advice(document)
        if next_step:
            say(next_step)

    def notice(self, text: str) -> None:
        """Something that is said about this client, not about the run."""
        say(f"grpotui: {text}")

    def _words(self, source: Source, change: Change) -> str | None:  # noqa: C901, PLR0911  (one line a kind)
        match change:
            case MemberChanged(member):
                return self._member(member, watched=source.run.attached)
            case LogChanged(path, what):
                return f"{path}: {what}"
            case Signalled(plan):
                return f"{plan.signal} sent ({plan.kind}: {plan.why})"
            case Held(why):
                return f"peers are spared: {why}"
            case LeftBehind(left):
                return leftover_line(leftover_fields(source, left))
            case LeftoverEnded():
                return fate_line(change)
            case Raised(finding):
                return finding_line(finding_fields(finding))
            case Unwatched(seconds):
                return f"no monitor ran for {seconds:.1f} s: output of that time is shown late"
            case Entered(name, told_by):
                return phase_line(name, told_by) if name in TOLD else None
            case PhaseChanged(phase):
                lost = phase == "unsupervised" and not source.run.attached
                return _UNSUPERVISED if lost else None  # other lines tell of the others
            case Stepped():
                return None
            case _:
                return self._gpu(change)

    def _gpu(self, change: GpuChange) -> str | None:
        """What the end will say of every device is not said before, unless one was late."""
        match change:
            case GpuNotReturned(record) if not record.final:
                self._releasing.add(record.gpu)
            case GpuReturned(record) if record.gpu not in self._releasing:
                return None
            case GpuNotReturned():
                return None
            case XidSeen(record) if record.severity == "note":
                return None
            case _:
                pass
        return change_line(change)

    def _member(self, member: Member, *, watched: bool) -> str | None:
        if member.role == "log":
            return None  # it is nothing but its log
        fields = {"role": member.role, "rank": member.rank, "member": member.key, **state_fields(member.state)}
        if isinstance(member.state, Running):
            return f"{member_name(fields)} {'is' if watched else 'started,'} pid {member.pid}"
        sent = f" (grpotui had sent {', '.join(member.sent)})" if member.sent else ""
        return f"{member_name(fields)} {ending(fields)}{sent}"
