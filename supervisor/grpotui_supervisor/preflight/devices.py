"""The run's GPUs around the checks that put something on them: idle before, and as they were before afterwards."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from grpotui_supervisor import launch, rundir
from grpotui_supervisor.errors import GpuUnavailable, GrpotuiError
from grpotui_supervisor.gpu import admission
from grpotui_supervisor.gpu.baseline import Looker
from grpotui_supervisor.gpu.idle import judge
from grpotui_supervisor.gpu.visible import VARIABLE
from grpotui_supervisor.model.gpu import tolerance
from grpotui_supervisor.model.wording import size
from grpotui_supervisor.preflight.check import Result

if TYPE_CHECKING:
    from grpotui_supervisor.gpu.admission import Found
    from grpotui_supervisor.gpu.idle import Seen
    from grpotui_supervisor.preflight.check import Job

BACK_S: Final = 15.0
"""A process that has ended gives its memory back within 0.2 s on an H200; slower drivers take seconds."""
_POLL_S: Final = 0.1


class Devices:
    """Those that the run will have, as they are before any check, and after."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._looker: Looker | None = None
        self._found: Found | str | None = None
        self.is_used = False
        """Whether a check put something on them."""

    def are_there(self) -> bool:
        """Whether the run has any, as far as the driver tells."""
        found = self._before()
        return not isinstance(found, str) and bool(found.own)

    def environment(self) -> dict[str, str]:
        """What keeps a check to the devices that the profile names, where the job's environment does not say which."""
        named, found = self._job.loaded.profile.gpus.devices, self._before()
        if named is None or isinstance(found, str) or VARIABLE in self._job.environment:
            return {}
        return {VARIABLE: ",".join(str(seen.device.uuid) for seen in self._own(found))}

    def obstacle(self) -> str | None:
        """Why nothing is to be put on them now; None: they are idle, or there are none."""
        found = self._before()
        if isinstance(found, str):
            return found
        doubts = [word.evidence for seen in self._own(found) if (word := judge(seen)).idle is not True]
        claimed = [obstacle.text for obstacle in found.obstacles]
        return next(iter([*claimed, *doubts]), None)

    def wait_until_back(self) -> Result | None:
        """Whether all are as they were before; None: no check put anything on them."""
        found = self._before()
        if not self.is_used or isinstance(found, str) or not found.own:
            return None
        began, before = time.monotonic(), {seen.device.key: seen for seen in self._own(found)}
        while True:
            held = self._still_held(before)
            waited = time.monotonic() - began
            if not held:
                return Result(outcome="passed", evidence=f"{_count(before)} as before the checks, after {waited:.1f} s")
            if waited > BACK_S or (self._job.stopping is not None and self._job.stopping.is_set()):
                return Result(
                    outcome="warning",
                    evidence=f"not as before the checks after {waited:.0f} s: {'; '.join(held)}",
                    next="the idle baseline of the run would count that in; see who holds it: grpotui gpus",
                )
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Lets the driver's library go."""
        if self._looker is not None:
            self._looker.close()

    def _before(self) -> Found | str:
        """As they were when first asked for; a text says why that cannot be told, although there may be some."""
        with self._lock:
            if self._found is None:
                self._looker = Looker()
                wanted = launch.wanted(self._job.plan)
                try:
                    self._found = admission.look(self._looker, wanted, rundir.root(self._job.plan.environment))
                except GrpotuiError as error:
                    self._found = str(error)
            return self._found

    @staticmethod
    def _own(found: Found) -> list[Seen]:
        seen = () if found.snapshot is None else found.snapshot.seen
        return [one for one in seen if one.device.key in found.own]

    def _still_held(self, before: dict[str, Seen]) -> list[str]:
        assert self._looker is not None  # noqa: S101  (there was a look before)
        try:
            now = {seen.device.key: seen for seen in self._looker.look().seen}
        except GpuUnavailable as reason:
            return [str(reason)]
        return [word for key, old in before.items() if (word := _excess(old, now.get(key))) is not None]


def _excess(old: Seen, new: Seen | None) -> str | None:
    """What a device has in use beyond what it had; memory that cannot be read says nothing."""
    if new is None or new.reading.used_bytes is None or old.reading.used_bytes is None or old.device.numa:
        return None
    more = new.reading.used_bytes - old.reading.used_bytes
    return f"{old.label} has {size(more)} more in use" if more > tolerance(old.device.total_bytes) else None


def _count(devices: dict[str, Seen]) -> str:
    return "1 GPU is" if len(devices) == 1 else f"{len(devices)} GPUs are"
