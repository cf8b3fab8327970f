"""The plain front end: one line a step on stdout; exits, signals and findings on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from grpotui.text import ending, inert, member_name, step_line, verdict_line
from grpotui_supervisor.model.members import Running
from grpotui_supervisor.source.changes import (
    Change,
    Held,
    LeftBehind,
    MemberChanged,
    PhaseChanged,
    Raised,
    Signalled,
    Stepped,
    Unwatched,
)
from grpotui_supervisor.source.status import number, state_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.model.members import Member
    from grpotui_supervisor.source.source import Source


class Plain:
    """Prints changes as they come."""

    def begin(self, source: Source) -> None:
        """Says which run this is."""
        click.echo(f"run {source.directory.run_id}", err=True)

    def show(self, source: Source, changes: list[Change]) -> None:
        """One line for each change."""
        for change in changes:
            match change:
                case Stepped(row, step):
                    total = source.logs.reader.steps_total if source.logs.reader else None
                    metrics = {key: number(value) for key, value in source.logs.metrics(row).items()}
                    click.echo(step_line(step, total, metrics))
                case _:
                    text = self._words(change)
                    if text:
                        click.echo(text, err=True)

    def end(self, document: Mapping[str, Any], code: int, code_from: str) -> None:
        """The verdict."""
        click.echo(verdict_line(document), err=True)
        if code == 4 and code_from == "grpotui":
            click.echo("but the profile's [expect] was not met: see grpotui status", err=True)

    def notice(self, text: str) -> None:
        """Something that is said about this client, not about the run."""
        click.echo(text, err=True)

    def _words(self, change: Change) -> str | None:  # noqa: PLR0911  (one line a kind)
        match change:
            case MemberChanged(member):
                return self._member(member)
            case Signalled(plan):
                return f"{plan.signal} sent ({plan.kind}: {plan.why})"
            case Held(why):
                return f"peers are spared: {why}"
            case LeftBehind(left):
                of = f" of rank {left.member}" if left.member else ""
                return f"still alive: pid {left.pid}, {inert(left.name)}{of}"
            case Raised(f):
                return f"{f.severity.upper()} {f.id}: {f.evidence} (limit: {f.threshold}). Next: {f.next}"
            case Unwatched(seconds):
                return f"no monitor ran for {seconds:.1f} s: output of that time is shown late"
            case PhaseChanged(phase):
                return None if phase in ("starting", "ended") else f"now {phase}"
            case Stepped():
                return None

    def _member(self, member: Member) -> str:
        fields = {"role": member.role, "rank": member.rank, "member": member.key, **state_fields(member.state)}
        if isinstance(member.state, Running):
            return f"{member_name(fields)} started, pid {member.pid}"
        sent = f" (grpotui had sent {', '.join(member.sent)})" if member.sent else ""
        return f"{member_name(fields)} {ending(fields)}{sent}"
