"""What happened in a run, with its moments: what a time cursor is set to."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from grpotui_supervisor.follow import Records
from grpotui_supervisor.model.members import Exited

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui_supervisor.source.metrics import Metrics
    from grpotui_supervisor.source.source import Source

Kind = Literal["finding", "death", "end", "checkpoint", "validation", "restart", "gap"]


class Mark(NamedTuple):
    """Something that happened at a place of the cursor."""

    at: int
    """Monotonic nanoseconds of a run; of a bare log, the number of records that were printed then."""
    kind: Kind
    words: str
    step: int | None = None


def marks_of(source: Source) -> list[Mark]:
    """Of a run, read as far as it goes, in their order: findings, ends of members, checkpoints, validations."""
    moments = source.logs.moments
    found = [*_findings(source), *_ends(source), *_checkpoints(source)]
    found += [Mark(end, "gap", f"no monitor ran for {(end - begin) / 1e9:.1f} s") for begin, end in source.logs.gaps]
    found += [mark._replace(at=moments[mark.at - 1]) for mark in _of_rows(source.logs) if moments[mark.at - 1] >= 0]
    return sorted(found, key=lambda mark: mark.at)


def marks_of_log(metrics: Metrics) -> list[Mark]:
    """Of a bare log: checkpoints, validations, and where the training began again."""
    found = [
        Mark(max(1, one.rows), "checkpoint", f"checkpoint {one.path}", one.step) for one in metrics.checkpoints.found
    ]
    return sorted([*found, *_of_rows(metrics)], key=lambda mark: mark.at)


def _findings(source: Source) -> Iterator[Mark]:
    for record in Records(source.directory.file("findings.jsonl")).until(None):
        if record["ev"] == "raised":
            with suppress(KeyError, TypeError, ValueError):
                yield Mark(int(record["m"]), "finding", _words(record), record.get("step"))


def _words(record: Mapping[str, object]) -> str:
    return f"{record['severity']} {record['id']}: {record['evidence']}"


def _ends(source: Source) -> Iterator[Mark]:
    """An end that grpotui has brought about is no death of its own."""
    for member in source.run.members.values():
        if member.ended_m is not None:
            well = isinstance(member.state, Exited) and member.state.code == 0
            yield Mark(member.ended_m, "end" if well or member.sent else "death", f"{member.role} {member.key} ended")


def _checkpoints(source: Source) -> Iterator[Mark]:
    for saved in source.probes.checkpoints:
        yield Mark(saved.m, "checkpoint", f"checkpoint {saved.path}", saved.step)
    told = {saved.step for saved in source.probes.checkpoints}
    for one in source.logs.checkpoints.found:
        if one.began_m is not None and one.step not in told:
            yield Mark(one.began_m, "checkpoint", f"checkpoint {one.path}", one.step)


def _of_rows(metrics: Metrics) -> Iterator[Mark]:
    """Validations and restarts; `at` is the number of records up to theirs."""
    columns = metrics.columns
    if columns is None:
        return
    seen: set[int] = set()
    for key, series in columns.series.items():
        if key.startswith(("val", "eval")):
            seen.update(series.rows)
    for row in sorted(seen):
        yield Mark(row + 1, "validation", "validation", _known(columns.steps, row))
    for row, step in columns.restarts:
        if row < len(columns):
            yield Mark(row + 1, "restart", f"began again at step {step}", step)


def _known(steps: Sequence[int], row: int) -> int | None:
    return steps[row] if steps[row] >= 0 else None
