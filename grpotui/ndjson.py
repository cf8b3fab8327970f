"""The NDJSON front end: one JSON object a line on stdout, described by `schemas/stream.schema.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

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
from grpotui_supervisor.source.status import finding_fields, number, state_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.source.source import Source

SCHEMA = 1


class NdJson:
    """Prints changes as they come; the last line has the exit code, and whose word it is."""

    def begin(self, source: Source) -> None:
        """Which run this is."""
        _print("run", run=source.directory.run_id, directory=source.directory.path)

    def show(self, source: Source, changes: list[Change]) -> None:
        """One line for each change."""
        for change in changes:
            match change:
                case Stepped(row, step):
                    self._step(source, row, step)
                case MemberChanged(m):
                    _print("member", member=m.key, rank=m.rank, role=m.role, owned=m.owned, pid=m.pid,
                           sent=list(m.sent), **state_fields(m.state))  # fmt: skip
                case Signalled(plan):
                    _print("signal", signal=plan.signal, plan=plan.kind, why=plan.why)
                case Held(why):
                    _print("hold", why=why)
                case LeftBehind(left):
                    _print("leftover", pid=left.pid, name=left.name, member=left.member)
                case Raised(finding):
                    _print("finding", **finding_fields(finding))
                case Unwatched(seconds):
                    _print("gap", seconds=seconds)
                case PhaseChanged(phase):
                    _print("state", state=phase)

    def end(self, document: Mapping[str, Any], code: int, code_from: str) -> None:
        """The last record."""
        _print("end", exit_code=code, code_from=code_from, status=document)

    def notice(self, text: str) -> None:
        """Something that is said about this client, not about the run."""
        click.echo(text, err=True)

    def _step(self, source: Source, row: int, step: int | None) -> None:
        reader = source.logs.reader
        raw = reader.columns.row(row) if reader is not None else {}
        _print(
            "step",
            step=step,
            metrics={key: number(value) for key, value in source.logs.metrics(row).items()},
            raw={key: number(value) for key, value in raw.items()},
        )


def _print(ev: str, **fields: object) -> None:
    click.echo(json.dumps({"schema": SCHEMA, "ev": ev, **fields}))
