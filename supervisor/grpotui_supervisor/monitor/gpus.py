"""The GPUs on record: gpu.jsonl, from what the sampler's thread tells.

Nothing here waits for the driver. What cannot be read is said once, and the rest of the monitor goes on.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.gpu.events import Found, Lists, Opened, Readings, Slow, Unavailable, Xid
from grpotui_supervisor.gpu.ownership import Owners
from grpotui_supervisor.gpu.sampler import Sampler
from grpotui_supervisor.model.xids import xid_kind
from grpotui_supervisor.monitor.gpu_budget import Budget, Matters
from grpotui_supervisor.monitor.gpu_ends import EndsOfRun
from grpotui_supervisor.monitor.gpu_grounds import grounds
from grpotui_supervisor.monitor.gpu_lists import ListsOnRecord
from grpotui_supervisor.monitor.gpu_returns import Returns
from grpotui_supervisor.monitor.gpu_said import Said
from grpotui_supervisor.monitor.gpu_values import Values
from grpotui_supervisor.shim.journal import Journal, report
from grpotui_supervisor.source.liveness import look, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui_supervisor.gpu.events import Event
    from grpotui_supervisor.gpu.reasons import Ends
    from grpotui_supervisor.model.gpu import Device
    from grpotui_supervisor.model.run_state import RunState
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.source import Source

_SECOND = 1_000_000_000
_DEATH_NS = 10 * _SECOND
_HURRY_S = 2.0
_OPENING_NS = 3 * _SECOND
"""So long a run that is over waits for the library's first word; loading it takes milliseconds."""
_LONGEST_NS = 130 * _SECOND
"""A monitor stays no longer than this for the devices, whatever happens."""
_SILENT_S, _SILENT_AGAIN_S = 5.0, 60.0


class Gpus:
    """What the monitor does about GPUs; `look` is called in every round."""

    def __init__(self, directory: RunDirectory, source: Source) -> None:
        self._directory = directory
        self._attached = "attached" in source.facts
        self._grounds = grounds(source.facts)
        node = str(source.facts.get("node", "node-0"))
        self._journal = Journal(directory.file("gpu.jsonl"), node, writer="monitor")
        self._journal.begin()
        self._said = Said()
        self._said.take(self._journal.read())
        self._budget = Budget(self._journal)
        owners = Owners(directory.run_id, before=self._grounds.identities())
        self._values = Values(self._budget, absent=self._said.absent, lost=self._said.lost)
        self._lists = ListsOnRecord(self._budget, owners, known=self._said.lists)
        self._returns = Returns(self._budget, self._said)
        self._ends = EndsOfRun(directory.run_id)
        self._ending: Ends | None = None
        self._totals: dict[str, int | None] = {}
        self._heard = False
        """It is known which GPUs there are, or why none can be read."""
        self._hurried_m = 0
        self._silent_s = 0.0
        self._over_m: int | None = None
        self._sampler: Sampler | None = self._start()

    def _start(self) -> Sampler | None:
        try:
            sampler = Sampler()
            sampler.start()
        except (OSError, RuntimeError) as error:  # out of descriptors, or of threads
            self._unavailable(f"the thread that reads them could not be started: {error}")
            return None
        return sampler

    def fds(self) -> tuple[int, ...]:
        """What to wait for as well; nothing while there is time: then a look a second takes it along."""
        hurried = time.monotonic_ns() - self._hurried_m < _DEATH_NS
        return (self._sampler.fd,) if self._sampler is not None and (hurried or not self._heard) else ()

    def look(self, source: Source, records: Sequence[dict[str, Any]], *, supervised: bool) -> None:
        """Takes what came from the devices since the last look; `records`: what came to ranks.jsonl."""
        try:
            self._look(source, records, supervised=supervised)
        except Exception as error:  # noqa: BLE001  (a fault with the devices must not cost the exits and the logs)
            report(f"gpus: {type(error).__name__}: {error}")

    def is_settled(self) -> bool:
        """Whether a run that is over needs no more of this: each device is back, or has its final reason."""
        now = time.monotonic_ns()
        self._over_m = self._over_m or now
        if self._attached or now - self._over_m > _LONGEST_NS:
            return True
        ending = self._ending
        return self._heard and ending is not None and ending.last_m is not None and self._returns.are_settled(ending)

    def close(self) -> None:
        """Ends the sampling; a thread that hangs in the driver is left to the end of the process."""
        if self._sampler is not None:
            self._sampler.close()
            self._sampler = None

    def _look(self, source: Source, records: Sequence[dict[str, Any]], *, supervised: bool) -> None:
        now = time.monotonic_ns()
        died = self._ends.take(records)
        run = source.run
        if not (supervised or self._attached):
            run = settle(run, look(self._directory, source.facts))  # also where a full disk takes no end of it
        ends = self._ends.look(run, supervised=supervised, now=now)
        self._ending = ends
        self._hurry(now, died=died, waits=not self._attached and self._returns.is_waiting(ends, now))
        for event in self._sampler.take() if self._sampler is not None else ():
            self._take(event, run, ends, now)
        silent_s = self._sampler.silent_s() if self._sampler is not None else 0.0
        self._note_silence(silent_s)
        if not self._heard and ends.last_m is not None and now - ends.last_m > _OPENING_NS:
            self._judge_unread("the driver has not answered since the monitor was started")
        self._returns.passed(ends, now, silent_s)
        self._journal.flush()

    def _hurry(self, now: int, *, died: bool, waits: bool) -> None:
        """4 Hz for 10 s from each death, and from the end of the last rank until nothing more is waited for."""
        if died or waits:
            self._hurried_m = now
        if self._sampler is not None and (died or waits):
            self._sampler.hurry(_DEATH_NS / _SECOND if died else _HURRY_S)

    def _window(self, ends: Ends, now: int) -> Matters:
        if ends.ranks_m is not None and now - ends.ranks_m < _LONGEST_NS:
            return Matters.AT_THE_END
        return Matters.AT_A_DEATH if now - self._hurried_m < _DEATH_NS else Matters.LITTLE

    def _take(self, event: Event, run: RunState, ends: Ends, now: int) -> None:
        match event:
            case Opened(driver, cuda):
                self._say_nvml(available=True, reason=None, driver=driver, cuda=cuda)
            case Unavailable(reason, hint):
                self._unavailable(reason if hint is None else f"{reason}; {hint}")
            case Found(devices):
                self._found(devices)
            case Readings(m, read):
                self._values.take(m, read, self._totals, self._window(ends, now))
                self._returns.read(m, read, ends, now)
            case Lists(m, lists):
                listed = self._lists.take(m, lists, run, self._window(ends, now))
                self._returns.listed(listed, ends, now)
            case Xid(_, key, number):
                self._note_xid(key, number, now)
            case Slow(tick_ms, interval_s):
                self._budget.add("slow", tick_ms=round(tick_ms, 1), interval_s=interval_s)

    def _note_xid(self, key: str, number: int, now: int) -> None:
        if self._budget.allows(Matters.ONCE, now):
            kind = xid_kind(number)
            self._budget.add("xid", gpu=key, xid=number, name=kind.name, severity=kind.severity)

    def _unavailable(self, why: str) -> None:
        self._say_nvml(available=False, reason=why, driver=None, cuda=None)
        self._judge_unread(f"GPUs cannot be read: {why}")

    def _judge_unread(self, why: str) -> None:
        """Of the run's devices nothing can be told, and that is said of each."""
        self._heard = True
        if not self._attached:
            self._returns.found(self._grounds.unread(why))

    def _say_nvml(self, **fields: object) -> None:
        if fields != self._said.nvml:
            self._said.nvml = fields
            self._budget.add("nvml", **fields)

    def _found(self, devices: tuple[Device, ...]) -> None:
        self._heard = True
        parents = frozenset(device.parent for device in devices if device.parent is not None)
        ours = {device.key for device in devices if self._grounds.is_in_run(device, parents)}
        for device in devices:
            self._totals[device.key] = device.total_bytes
            fields = _device_fields(device, in_run=device.key in ours)
            if self._said.devices.get(device.key) != fields:
                self._said.devices[device.key] = fields
                self._budget.add("device", **fields)
        if not self._attached:
            self._returns.found({d.key: self._grounds.ground(d) for d in devices if d.key in ours})

    def _note_silence(self, silent_s: float) -> None:
        """A driver that does not answer is said, how long in steps, and that it answers again."""
        if silent_s >= self._silent_s + (_SILENT_AGAIN_S if self._silent_s else _SILENT_S):
            self._silent_s = silent_s
            self._budget.add("silent", seconds=round(silent_s, 1))
        elif self._silent_s and silent_s == 0:
            self._silent_s = 0.0
            self._budget.add("silent", seconds=0)


def _device_fields(device: Device, *, in_run: bool) -> dict[str, Any]:
    names = (
        "index", "uuid", "name", "bus_id", "total_bytes", "reserved_bytes", "kind", "mig", "parent", "numa",
        "persistence", "unavailable",
    )  # fmt: skip
    return {"gpu": device.key, **{name: getattr(device, name) for name in names}, "in_run": in_run}
