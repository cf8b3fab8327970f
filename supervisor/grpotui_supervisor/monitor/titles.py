"""The live phase of a Ray job: its workers write the method that they run into their titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.logs.phases import title_phase
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from grpotui_supervisor.shim.journal import Journal
    from grpotui_supervisor.source.source import Source

_PERIOD_NS = 1_000_000_000


class Titles:
    """Reads the titles of the observed workers once a second, and records the phase when it has changed."""

    def __init__(self, host: Journal, *, known: str | None) -> None:
        self._host = host
        self._known = known
        self._looked_m = 0

    def look(self, source: Source, now: int) -> None:
        """Called in every round."""
        if now - self._looked_m < _PERIOD_NS:
            return
        self._looked_m = now
        workers = [m.pid for m in source.run.members.values() if not m.owned and m.is_open and m.pid is not None]
        phase = title_phase(procfs.title(pid) for pid in workers)
        if phase != self._known:
            self._known = phase
            self._host.add("phase", phase=phase)
