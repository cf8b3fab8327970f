"""What the run is doing at this moment: the most particular of those who know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from grpotui_supervisor.logs.phases import STARTING
from grpotui_supervisor.model.run_state import leading

if TYPE_CHECKING:
    from grpotui_supervisor.source.source import Source

Teller = Literal["hook", "process title", "log"]


class Phase(NamedTuple):
    """A phase, whose word it is, and since when it is known (monotonic nanoseconds, None for a bare log)."""

    name: str
    told_by: Teller
    m: int | None


_LOADING = "load_model"
_GENERATING = "generate"
_VALIDATING = "validate"


def phase_now(source: Source) -> Phase | None:
    """None where nobody tells, and once every rank, or the process that was attached to, has ended.

    The hook knows best, then what Ray writes into the titles of its workers, then the log. But a title that says that
    the model is being built does not say more than the log's line about its weights, its engine or its graphs, nor
    does "generate" say more than that it is done for a validation.
    """
    members = leading(source.run) or list(source.run.members.values())
    if members and not any(member.is_open for member in members):
        return None
    hook = _from_hook(source)
    title, told = source.titled, source.logs.phase
    log = None if told is None else Phase(told.name, "log", told.m)
    if hook is not None:
        return hook
    if title is None or log is None:
        return title or log
    particular = (title.name == _LOADING and log.name in STARTING) or (
        title.name == _GENERATING and log.name == _VALIDATING
    )
    return log if particular else title


def _from_hook(source: Source) -> Phase | None:
    found, leader = source.probes.phase, source.probes.leader
    if found is None or not any(m.is_open and m.folder == leader for m in source.run.members.values()):
        return None
    return Phase(found.word, "hook", found.since_m)
