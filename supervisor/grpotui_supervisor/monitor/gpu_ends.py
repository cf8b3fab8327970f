"""How far the run's processes have ended: memory can be back only when none of them is alive anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui_supervisor.gpu.reasons import Ends, Living
from grpotui_supervisor.model.run_state import leading
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grpotui_supervisor.model.run_state import RunState

DEATHS = ("exit", "orphan_exit", "lost", "not_observable")
_SCAN_NS = 1_000_000_000
"""The environment of every process is read for the run's mark: 15 us each, on hosts with thousands."""


class EndsOfRun:
    """Follows the record of ends, and looks itself for what no record names."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._last_death_m = 0
        self._ranks_m = 0
        self._scanned_m = 0
        self._found: tuple[Living, ...] | None = None
        """Alive in the last scan; None: there was none yet."""
        self._late_m = 0
        """When a scan found nothing any more, after one that had found something."""
        self._ends = Ends()

    def take(self, records: Iterable[Mapping[str, Any]]) -> bool:
        """Notes the ends among new records; whether there were any."""
        moments = [int(record["m"]) for record in records if record["ev"] in DEATHS]
        self._last_death_m = max([self._last_death_m, *moments])
        return bool(moments)

    def look(self, run: RunState, *, supervised: bool, now: int) -> Ends:
        """As of now; once everything has ended, that stays."""
        if self._ends.last_m is not None:
            return self._ends
        leads = leading(run)
        if not leads or any(member.is_open for member in leads):
            return Ends()
        self._ranks_m = max([m.ended_m for m in leads if m.ended_m is not None], default=self._ranks_m or now)
        if supervised and not run.done:
            return Ends(ranks_m=self._ranks_m, alive=_on_record(run))
        alive = self._alive(run, now)
        if alive:
            return Ends(ranks_m=self._ranks_m, alive=alive)
        ended = [member.ended_m for member in run.members.values() if member.ended_m is not None]
        last_m = max([self._ranks_m, self._last_death_m, self._late_m, *ended])
        self._ends = Ends(ranks_m=self._ranks_m, last_m=last_m)
        return self._ends

    def _alive(self, run: RunState, now: int) -> tuple[Living, ...]:
        """What the shim says has ended, or was not there to see, is looked for by identity and by mark."""
        if self._found is not None and now - self._scanned_m < _SCAN_NS:
            return self._found
        before, self._scanned_m = self._found, now
        known = [(m.pid, m.start) for m in run.members.values() if m.is_open]
        known += [(left.pid, left.start) for left in run.leftovers.values()]
        pids = {pid for pid, start in known if pid is not None and start is not None and procfs.is_alive(pid, start)}
        pids.update(pid for pid in procfs.marked(self._run_id) if procfs.is_running(pid))
        self._found = tuple(Living(pid=pid, name=_name(pid)) for pid in sorted(pids))
        if before and not self._found:
            self._late_m = now
        return self._found


def _on_record(run: RunState) -> tuple[Living, ...]:
    members = [Living(pid=m.pid, name=m.role) for m in run.members.values() if m.is_open and m.pid is not None]
    return (*members, *(Living(pid=left.pid, name=left.name) for left in run.leftovers.values()))


def _name(pid: int) -> str:
    found = procfs.stat(pid)
    return procfs.title(pid) or (found.name if found else "a process")
