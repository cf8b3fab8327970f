"""Sparing the peers of a failed rank while they still save: a crash in one rank's teardown must not cost a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.host import trees

if TYPE_CHECKING:
    from grpotui_supervisor.model.members import Member
    from grpotui_supervisor.source.source import Source

SECONDS = 3.0
"""How long one request holds; it is renewed every second while its reason lasts."""
_RENEW_NS = 1_000_000_000
_BUSY_BYTES = 64 * 1024
"""Written from one look to the next, a quarter of a second: a checkpoint is far above it, the chatter of a rank that
hangs in a collective far below."""


class Holding:
    """Looks, in every round after a failure, whether there is a reason to hold."""

    def __init__(self) -> None:
        self._looked_m = 0
        self._asked_m = 0
        self._written: dict[int, int] = {}

    def reason(self, source: Source, now: int) -> str | None:
        """Why the peers should be spared for the next seconds; None when nothing speaks for it, or it is not due."""
        run = source.run
        if run.first_failure is None or run.ranks_done or run.stop_asked or run.plan is not None:
            return None
        since, self._looked_m = self._looked_m, now
        peers = [m for m in run.members.values() if m.leads and m.is_open and m.pid is not None]
        busy = [m for m in peers if self._writes(m) or self._prints(source, m, since)]
        complete = source.logs.training_complete and bool(peers)
        if not (complete or busy) or now - self._asked_m < _RENEW_NS:
            return None
        self._asked_m = now
        if complete:
            return "training is complete: the other ranks may be saving"
        return f"still writing: {', '.join(m.key for m in busy)}"

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
