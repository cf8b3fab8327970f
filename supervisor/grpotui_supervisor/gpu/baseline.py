"""The machine's GPUs at one moment: what a launch takes as the idle baseline, and what `grpotui gpus` shows.

NVML is asked in a thread of its own: a hung driver keeps whoever calls it in the kernel, and must not keep a launch.
"""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import GpuUnavailable
from grpotui_supervisor.follow import Records
from grpotui_supervisor.gpu.idle import Seen, judge
from grpotui_supervisor.gpu.naming import who
from grpotui_supervisor.gpu.nvml import Nvml
from grpotui_supervisor.model import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from grpotui_supervisor.gpu.naming import Who

SECONDS = 10.0
"""So long an answer is waited for."""
_CLOSING_SECONDS = 2.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All devices, as they were found."""

    driver: str | None
    cuda: str | None
    m: int
    """Monotonic nanoseconds."""
    t: float
    """Unix time in seconds."""
    seen: tuple[Seen, ...]


class Looker:
    """An open NVML. While it is open the driver stays attached to the devices, whatever their persistence mode is."""

    def __init__(self, seconds: float = SECONDS) -> None:
        """Begins to open it, and does not wait for that. `seconds`: how long any answer is waited for."""
        self._seconds = seconds
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Snapshot | GpuUnavailable] = queue.SimpleQueue()
        self._failed: GpuUnavailable | None = None
        self._owed = False
        self._thread = threading.Thread(target=self._serve, name="nvml", daemon=True)
        self._thread.start()

    def look(self) -> Snapshot:
        """The devices as they are now.

        Raises:
            GpuUnavailable: there is no NVML, or it does not answer, and why.
        """
        if self._failed is not None:
            raise self._failed
        if not self._owed:
            self._asked.put(True)
        try:
            found = self._answers.get(timeout=self._seconds)
        except queue.Empty:
            self._owed = True  # the answer to come is the next one's
            raise GpuUnavailable(f"NVML did not answer within {self._seconds:g} s") from None
        self._owed = False
        if isinstance(found, Snapshot):
            return found
        self._failed = found
        raise found

    def close(self) -> None:
        """Lets the library go; one that hangs is left to the end of this process."""
        self._asked.put(False)
        if not self._owed:
            self._thread.join(_CLOSING_SECONDS)

    def _serve(self) -> None:
        try:
            nvml = Nvml()
        except GpuUnavailable as reason:
            self._answers.put(reason)
            return
        while self._asked.get():
            self._answers.put(_snapshot(nvml))
        nvml.close()


def _snapshot(nvml: Nvml) -> Snapshot:
    seen = []
    for device in nvml.devices():
        reading, listed = nvml.read(device.key), nvml.processes(device.key)
        known = MappingProxyType({process.pid: who(process.pid) for process in listed.processes})
        seen.append(Seen(device=device, reading=reading, listed=listed, who=known))
    return Snapshot(driver=nvml.driver, cuda=nvml.cuda, m=time.monotonic_ns(), t=time.time(), seen=tuple(seen))


def document(snapshot: Snapshot, in_run: Collection[str], secrets: Iterable[str] = ()) -> dict[str, Any]:
    """`gpus` of run.json: the idle baseline of every device. `in_run`: keys of the run's own."""
    known = list(secrets)
    return {
        "driver": snapshot.driver,
        "cuda": snapshot.cuda,
        "m": snapshot.m,
        "t": snapshot.t,
        "devices": [_device(seen, known, in_run=seen.device.key in in_run) for seen in snapshot.seen],
    }


def _device(seen: Seen, secrets: list[str], *, in_run: bool) -> dict[str, Any]:
    fields, judgement = asdict(seen.device), judge(seen)
    return {
        "gpu": fields.pop("key"),
        **fields,
        "unavailable": seen.device.unavailable or seen.reading.lost,
        "in_run": in_run,
        "used_bytes": seen.reading.used_bytes,
        "idle": judgement.idle,
        "idle_evidence": redact.text(judgement.evidence, secrets),
        "processes": [_process(seen.who[p.pid], p.type, p.used_bytes, secrets) for p in seen.listed.processes],
        "processes_reason": seen.listed.reason,
    }


def _process(who: Who, kind: str, used: int | None, secrets: list[str]) -> dict[str, Any]:
    name = None if who.name is None else redact.text(who.name, secrets)
    return {"pid": who.pid, "start": who.start, "name": name, "user": who.user, "type": kind, "used_bytes": used}


def hand_over(looker: Looker, snapshot: Snapshot | None, gpu_records: str) -> None:
    """Closes the library; where no client keeps the driver attached, once the monitor has read the devices itself.

    Without persistence mode the driver lets go of a device with its last client, and takes seconds to come back. The
    thread that waits keeps this process alive for up to 10 s.
    """
    if snapshot is None or all(seen.device.persistence is not False for seen in snapshot.seen):
        looker.close()
        return
    threading.Thread(target=_close_later, args=(looker, gpu_records), name="nvml-hand-over").start()


def _close_later(looker: Looker, path: str) -> None:
    deadline, records = time.monotonic() + SECONDS, Records(path)
    while time.monotonic() < deadline:
        if any(record["ev"] == "gpus" for record in records.until(None)):
            break
        time.sleep(_POLL_SECONDS)
    looker.close()
