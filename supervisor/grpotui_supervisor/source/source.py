"""`Source`: the fold over the record files of one run."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.follow import Records
from grpotui_supervisor.model.finding import Finding, Raised
from grpotui_supervisor.model.run_state import RunState, advance, ending, planned
from grpotui_supervisor.model.wrapper_exits import overlay
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.source.followed import Followed
from grpotui_supervisor.source.gpus import Ends, Gpus
from grpotui_supervisor.source.logs import Logs
from grpotui_supervisor.source.member_records import MemberRecords
from grpotui_supervisor.source.phase import Phase
from grpotui_supervisor.source.phase_times import PhaseTimes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.probes import Probes

_TITLES_LATE_NS = 1_000_000_000
"""Titles are read once a second."""
MARGIN_NS = 20_000_000
"""A writer stamps a line just before it writes it, so "now" is not complete yet; a moment 20 ms ago is."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory and CPU of a member's process tree, at `m`."""

    m: int
    rss_bytes: int
    cpu_s: float
    processes: int
    cpu_percent: float | None = None
    """Of one core, since the sample before; None for the first, and where a process took its time with it."""


class Source:
    """The state of a run as of the last `update`.

    Attributes:
        facts: run.json.
        run: the processes, as recorded.
        logs: metrics and output times.
        followed: where the logs of an attached job come from.
        findings: those raised and not cleared, oldest first.
        raised: every finding that was raised, oldest first, with its moments.
        samples: last memory and CPU sample of each member.
        titled: the phase that the titles of its processes tell.
        looked_at: by the path of a checkpoint, whether its disk shows it complete, by what, and when that was seen.
        disk: the last record of the checkpoints' file system.
        gpus: the devices, against their idle baseline.
        machine: the last record of host memory.
        deaths: by member and pid, the record of what changed around its end.
    """

    def __init__(self, directory: RunDirectory, *, with_logs: bool = True) -> None:
        """`with_logs=False` folds the processes only: a list of many runs need not read their logs."""
        self.directory = directory
        self.facts: dict[str, Any] = directory.facts()
        self._with_logs = with_logs
        self.logs = Logs(directory, self.facts)
        self.followed = Followed()
        self.findings: dict[tuple[str, str | None], Finding] = {}
        self.raised: list[Raised] = []
        self.samples: dict[str, Sample] = {}
        self.titled: Phase | None = None
        self._titled_times = PhaseTimes(late_ns=_TITLES_LATE_NS)
        self.looked_at: dict[str, dict[str, Any]] = {}
        self.disk: dict[str, Any] | None = None
        self.gpus = Gpus(self.facts)
        self._ended_m: int | None = None
        self.machine: dict[str, Any] | None = None
        self.deaths: dict[tuple[str, int | None], dict[str, Any]] = {}
        self.as_of: int | None = None
        """Monotonic nanoseconds; None: everything recorded."""
        self.start_t: float | None = None
        """Unix time of the first record."""
        node = str(self.facts.get("node", "node-0"))
        self._folded = planned(self.facts.get("members", ()), node, attached="attached" in self.facts)
        self._files = {
            name: Records(directory.file(f"{name}.jsonl")) for name in ("ranks", "host", "findings", "timeline", "gpu")
        }
        self._wrappers = MemberRecords(directory, "wrapper-") if self.facts.get("wrapped") else None
        self._wrapper_exits: list[dict[str, Any]] = []

    @property
    def run(self) -> RunState:
        """Members, failures, stops, and how far the run is."""
        return overlay(self._folded, self._wrapper_exits) if self._wrapper_exits else self._folded

    def update(self, until: int | None) -> None:
        """Takes in everything that was on record at `until` (monotonic nanoseconds); never goes back.

        Raises:
            SchemaError: a newer grpotui wrote the run.
        """
        self.as_of = until
        processes = [*self._files["ranks"].until(until), *self._files["host"].until(until)]
        for record in sorted(processes, key=lambda r: int(r["m"])):
            self._folded = advance(self._folded, record)
            if record["ev"] in _ENDS:
                self._ended_m = record["m"]
            if self.start_t is None and isinstance(record.get("t"), float):
                self.start_t = record["t"]
            if record["ev"] in _TAKEN:
                with suppress(KeyError, TypeError, ValueError, OverflowError):
                    _TAKEN[record["ev"]](self, record)
        for record in self._files["findings"].until(until):
            self._take_finding(record)
        if self._with_logs:
            for record in self._files["timeline"].until(until):
                self.logs.take(record)
                self.followed.take(record)
            for record in self._files["gpu"].until(until):
                self.gpus.take(record)
            self.probes.update(until)
        exits = self._wrappers.until(until) if self._wrappers else ()
        self._wrapper_exits += [w.record for w in exits if w.record["ev"] == "exit" and _is_ending(w.record)]

    @property
    def probes(self) -> Probes:
        """What the hook recorded."""
        return self.logs.probes

    @property
    def phase_times(self) -> PhaseTimes:
        """When which phase was under way: the hook's word, else that of the titles."""
        return self.probes.phase_times if len(self.probes.phase_times) else self._titled_times

    def update_live(self) -> None:
        """As of now, less the margin that makes the answer final; another boot's clock says nothing about now."""
        self.update(time.monotonic_ns() - MARGIN_NS if self.same_boot else None)

    @property
    def same_boot(self) -> bool:
        """Whether the run's monotonic times are those of the running kernel."""
        return bool(self.facts.get("host", {}).get("boot") == procfs.boot_id())

    @property
    def start_m(self) -> int | None:
        """When the run began, by the monotonic clock of its boot."""
        return self._folded.first_m

    @property
    def last_m(self) -> int | None:
        """Moment of the last record of any file: devices and logs are looked at for a while after the processes."""
        return max((file.last_m for file in self._files.values() if file.last_m is not None), default=None)

    @property
    def ends(self) -> Ends:
        """How far its processes have ended, as recorded."""
        run = self._folded
        is_alive = any(m.is_open for m in run.members.values()) or (bool(run.leftovers) and not run.unsupervised)
        return Ends(is_alive, self._ended_m)

    def _take_sample(self, record: Mapping[str, Any]) -> None:
        sample = Sample(record["m"], int(record["rss_bytes"]), float(record["cpu_s"]), int(record["processes"]))
        member = str(record["member"])
        self.samples[member] = replace(sample, cpu_percent=_cpu_percent(self.samples.get(member), sample))

    def _take_phase(self, record: Mapping[str, Any]) -> None:
        name = record["phase"]
        self.titled = None if name is None else Phase(str(name), "process title", record["m"])
        self._titled_times.put(record["m"], None if name is None else str(name))

    def _take_checkpoint(self, record: Mapping[str, Any]) -> None:
        found = {"complete": bool(record["complete"]), "evidence": str(record["evidence"]), "m": record["m"]}
        self.looked_at[str(record["path"])] = found

    def _take_disk(self, record: Mapping[str, Any]) -> None:
        sizes = {key: int(record[key]) for key in ("free_bytes", "total_bytes")}
        self.disk = {"path": str(record["path"]), **sizes, "m": record["m"]}

    def _take_machine(self, record: Mapping[str, Any]) -> None:
        self.machine = dict(record)

    def _take_death(self, record: Mapping[str, Any]) -> None:
        counters = [f"{name}_{when}" for name in ("oom_kills", "cgroup_oom_kills") for when in ("before", "after")]
        found = {name: None if record[name] is None else int(record[name]) for name in counters}
        age = {"before_age_s": float(record["before_age_s"])}
        self.deaths[str(record["member"]), int(record["pid"])] = {**record, **found, **age}

    def _take_finding(self, record: Mapping[str, Any]) -> None:
        member = record.get("member")
        key = (str(record.get("id")), member if isinstance(member, str) else None)
        if record["ev"] == "cleared":
            gone = self.findings.pop(key, None)
            self.raised = [replace(one, cleared_m=record["m"]) if one.finding is gone else one for one in self.raised]
        elif record["ev"] == "raised":
            names = ("id", "severity", "evidence", "threshold", "next", "step", "member")
            found = Finding(**{name: record.get(name) for name in names})  # type: ignore[arg-type]
            self.findings[key] = found
            self.raised.append(Raised(finding=found, raised_m=record["m"]))


def _cpu_percent(before: Sample | None, now: Sample) -> float | None:
    if before is None or now.m <= before.m or now.cpu_s < before.cpu_s:
        return None
    return 100e9 * (now.cpu_s - before.cpu_s) / (now.m - before.m)


_ENDS: Final = frozenset({"exit", "spawn_failed", "lost", "not_observable", "orphan_exit"})
_TAKEN: Final[dict[str, Callable[[Source, Mapping[str, Any]], None]]] = {
    "member": Source._take_sample,  # noqa: SLF001
    "phase": Source._take_phase,  # noqa: SLF001
    "checkpoint": Source._take_checkpoint,  # noqa: SLF001
    "disk": Source._take_disk,  # noqa: SLF001
    "host": Source._take_machine,  # noqa: SLF001
    "death": Source._take_death,  # noqa: SLF001
}
"""The monitor's events about anything but the ends of processes."""


def _is_ending(record: Mapping[str, Any]) -> bool:
    try:
        ending(record)
    except (KeyError, TypeError, ValueError, OverflowError):
        return False
    return True
