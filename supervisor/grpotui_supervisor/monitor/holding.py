"""Sparing the peers of a failed rank while they still save: a crash in one rank's teardown must not cost a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.host import trees

if TYPE_CHECKING:
    from grpotui_supervisor.model.members import Member
    from grpotui_supervisor.source.source import Source

SECONDS = 3.0
"""How long one request holds; it is renewed every second while its reason lasts."""
_PERIOD_NS = 1_000_000_000
_BUSY_BYTES = 256 * 1024
"""Written in one period: a checkpoint is far above it, the chatter of a rank that hangs in a collective far below."""


class Holding:
    """Looks once a second whether there is a reason to hold."""

    def __init__(self) -> None:
        self._looked_m = 0
        self._written: dict[int, int] = {}

    def reason(self, source: Source, now: int) -> str | None:
        """Why the peers should be spared for the next seconds; None when nothing speaks for it, or it is not due."""
        run = source.run
        if run.first_failure is None or run.ranks_done or run.stop_asked or run.plan is not None:
            return None
        if now - self._looked_m < _PERIOD_NS:
            return None
        since, self._looked_m = self._looked_m, now
        peers = [m for m in run.members.values() if m.leads and m.is_open and m.pid is not None]
        busy = [m for m in peers if self._writes(m) or self._prints(source, m, since)]
        if source.logs.reader is not None and source.logs.reader.training_complete and peers:
            return "training is complete: the other ranks may be saving"
        if busy:
            names = ", ".join(m.key for m in busy)
            return f"still writing: {names}"
        return None

    def _writes(self, member: Member) -> bool:
        pid = member.pid or 0
        tree = trees([pid]).get(pid)
        if tree is None:
            return False
        before = self._written.get(pid)
        self._written[pid] = tree.written_bytes
        return before is not None and tree.written_bytes - before >= _BUSY_BYTES

    def _prints(self, source: Source, member: Member, since: int) -> bool:
        last = source.logs.last_output_m(member.key)
        return since > 0 and last is not None and last > since
