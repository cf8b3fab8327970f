"""What the hook recorded from inside the trainer's processes: phases, exact metrics, memory, parameters."""

from __future__ import annotations

from array import array
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from grpotui_supervisor.logs.hf_columns import LateColumns
from grpotui_supervisor.logs.hf_kinds import Kind, printed
from grpotui_supervisor.source.member_records import MemberRecords
from grpotui_supervisor.source.phase_times import PhaseTimes
from grpotui_supervisor.source.step_times import TrainerSteps
from grpotui_supervisor.source.timed_sections import Phase, Sections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.rundir import RunDirectory

_COUNTERS = ("allocated_bytes", "reserved_bytes", "max_allocated_bytes", "max_reserved_bytes")


class TorchMemory(NamedTuple):
    """Torch's own counters of one device in one process, in bytes, at `m`; the driver's are another reading."""

    m: int
    allocated_bytes: int
    reserved_bytes: int
    max_allocated_bytes: int
    max_reserved_bytes: int


@dataclass(slots=True)
class TorchHistory:
    """The present counters of one device in one process, in bytes; its peaks only rise, and are left out."""

    moments: array[int] = field(default_factory=lambda: array("q"))
    """Monotonic nanoseconds."""
    allocated: array[int] = field(default_factory=lambda: array("q"))
    reserved: array[int] = field(default_factory=lambda: array("q"))


class Saved(NamedTuple):
    """A checkpoint that the trainer said it has saved, at `m`."""

    m: int
    step: int
    path: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """What was seen of one parameter: whether any of its digests differs from the first (None: there is one only)."""

    name: str
    kind: str
    dtype: str
    bytes: int
    of_bytes: int
    first: str
    changed: bool | None = None


@dataclass(frozen=True, slots=True)
class Parameters:
    """The samples of one process's parameters, from `first_step` to `last_step`."""

    samples: int
    first_step: int
    last_step: int
    tensors: tuple[Tensor, ...]

    @property
    def changed(self) -> bool | None:
        """Whether any of them changed; None while nothing was compared."""
        known = [tensor.changed for tensor in self.tensors if tensor.changed is not None]
        return any(known) if known else None


class Probes:
    """The fold over `ranks/*/probe-*.jsonl`; empty where the profile did not ask for the hook.

    Attributes:
        columns: the metrics of the process that prints them, with the trainer's own steps; all digits.
        checkpoints: in the order in which they were saved.
        memory: by member, pid and device.
        memory_history: the same over time.
        phase_times: when which phase was under way in the process that prints the metrics.
        steps: from when to when each step took in that process.
        parameters: by member and pid.
        step, steps_total, training_complete: what the printing process says; None, None, False: nothing.
    """

    def __init__(self, directory: RunDirectory, facts: Mapping[str, Any]) -> None:
        profile = facts.get("profile", {})
        wanted = profile.get("hook")
        self._records = MemberRecords(directory, "probe-") if wanted and any(wanted.values()) else None
        self._leader = "0" if profile.get("launch", {}).get("mode") == "ranks" else None
        self._sections: dict[tuple[str, str], Sections] = {}
        self._trains: dict[str, str] = {}
        self._pids: dict[tuple[str, str], int] = {}
        self.columns = LateColumns()
        self.row_moments: list[int] = []
        """When each row was recorded, in monotonic nanoseconds."""
        self.checkpoints: list[Saved] = []
        self.memory: dict[tuple[str, int, int], TorchMemory] = {}
        self.memory_history: dict[tuple[str, int, int], TorchHistory] = {}
        self.phase_times = PhaseTimes(late_ns=0)
        self.steps = TrainerSteps()
        self.parameters: dict[tuple[str, int], Parameters] = {}
        self.step: int | None = None
        self.steps_total: int | None = None
        self.training_complete = False

    def update(self, until: int | None) -> None:
        """Takes in what was on record at `until`; a line that lacks what its kind needs changes nothing.

        Raises:
            SchemaError: a newer grpotui wrote one of the files.
        """
        for member, file, record in self._records.until(until) if self._records else ():
            with suppress(KeyError, TypeError, ValueError, OverflowError, AttributeError):
                self._take(member, file, record)

    def phase_of(self, member: str) -> Phase | None:
        """What the member's training process is doing, or was when it ended; None: that is not known."""
        file = self._trains.get(member)
        return None if file is None else self._sections[member, file].phase

    @property
    def phase(self) -> Phase | None:
        """Of the member that prints the metrics."""
        return None if self._leader is None else self.phase_of(self._leader)

    @property
    def leader(self) -> str | None:
        """The member that prints the metrics; None while it is not known."""
        return self._leader

    def _take(self, member: str, file: str, record: dict[str, Any]) -> None:
        place, ev = (member, file), record["ev"]
        if ev in ("begin", "end"):
            self._time(place, record)
        elif ev == "header":
            self._pids[place] = int(record["pid"])
        elif ev == "torch_memory":
            counters = TorchMemory(int(record["m"]), *(int(record[name]) for name in _COUNTERS))
            self._remember((member, self._pids[place], int(record["device"])), counters)
        elif ev == "parameters":
            key = member, self._pids[place]
            self.parameters[key] = _advanced(self.parameters.get(key), int(record["step"]), record["tensors"])
        else:
            self._take_event(member, file, record)

    def _remember(self, key: tuple[str, int, int], counters: TorchMemory) -> None:
        history = self.memory_history.setdefault(key, TorchHistory())
        history.allocated.append(counters.allocated_bytes)
        history.reserved.append(counters.reserved_bytes)
        history.moments.append(counters.m)
        self.memory[key] = counters

    def _time(self, place: tuple[str, str], record: dict[str, Any]) -> None:
        """What begins or ends in a process."""
        sections = self._sections_of(place)
        before = sections.phase
        sections.take(record)
        phase = sections.phase
        if phase is not before and place[0] == self._leader and self._trains.get(place[0]) == place[1]:
            self.phase_times.put(int(record["m"]), None if phase is None else phase.word)

    def _sections_of(self, place: tuple[str, str]) -> Sections:
        found = self._sections.get(place)
        return found if found is not None else self._sections.setdefault(place, Sections())

    def _take_event(self, member: str, file: str, record: dict[str, Any]) -> None:
        self._time((member, file), record)
        if record["ev"] == "train_begin":
            self._trains[member] = file
            if self._leader is None and record["leads"] is True:
                self._leader = member
        if member == self._leader and self._trains.get(member) == file:
            self._lead(record)

    def _lead(self, record: dict[str, Any]) -> None:
        match record:
            case {"ev": "train_begin", "step": int(step), "max_steps": int(total)}:
                self.step, self.steps_total = step or None, total if total > 0 else None
                self.training_complete = False
            case {"ev": "step_begin", "m": int(moment)}:
                self.steps.begin(moment)
            case {"ev": "step_end", "step": int(step), "m": int(moment)}:
                self.step = step
                self.steps.end(step, moment)
            case {"ev": "log", "step": int(step), "logs": dict(logs), "m": int(moment)}:
                self._log(step, logs, moment)
            case {"ev": "save", "step": int(step), "path": str(path), "m": int(moment)}:
                self.checkpoints.append(Saved(moment, step, path))
            case {"ev": "train_end"}:
                self.training_complete = True
            case _:
                pass

    def _log(self, step: int, logs: dict[str, Any], moment: int) -> None:
        values = {key: None if value is None else float(value) for key, value in logs.items() if key.isprintable()}
        found = printed({**values, "step": float(step)})
        if found is not None and found.kind is Kind.END:
            return
        metrics = {k: v for k, v in values.items() if v is not None} if found is None else dict(found.metrics)
        metrics.pop("step", None)
        self.columns.put(step, metrics)
        self.row_moments += [moment] * (len(self.columns) - len(self.row_moments))


def _advanced(known: Parameters | None, step: int, sampled: list[dict[str, Any]]) -> Parameters:
    before = {tensor.name: tensor for tensor in known.tensors} if known else {}
    after = {str(found["name"]): _compared(before.get(str(found["name"])), found) for found in sampled}
    return Parameters(
        samples=known.samples + 1 if known else 1,
        first_step=known.first_step if known else step,
        last_step=step,
        tensors=tuple({**before, **after}.values()),
    )


def _compared(known: Tensor | None, found: dict[str, Any]) -> Tensor:
    digest = str(found["blake2b"])
    if known is not None:
        return replace(known, changed=bool(known.changed) or digest != known.first)
    sizes = int(found["bytes"]), int(found["of_bytes"])
    return Tensor(str(found["name"]), str(found["kind"]), str(found["dtype"]), *sizes, digest)
