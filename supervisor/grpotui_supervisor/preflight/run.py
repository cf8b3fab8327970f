"""All checks of a job: side by side, each with its limit, the results as they come, and nothing left of any."""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.devices import Devices
from grpotui_supervisor.preflight.interpreter import InterpreterSilent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from grpotui_supervisor.preflight.check import Check, Job

_TICK_S: Final = 0.1
_SPARE_S: Final = 8.0
"""What a check gets beyond its limit to end what it started: `child` takes at most 3 s for each program."""
BACK: Final = "memory_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One check and its answer."""

    name: str
    title: str
    result: Result
    seconds: float


@dataclass(slots=True, eq=False)
class _Turn:
    """A check that runs: its thread, its own stop, and when it must have come back."""

    check: Check
    lane: list[Check]
    stopping: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)
    thread: threading.Thread | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


def selected(checks: Iterable[Check], job: Job, only: Sequence[str] = ()) -> tuple[Check, ...]:
    """Those that are run: what costs much only if asked for, or named in `only`."""
    if only:
        return tuple(check for check in checks if check.name in only)
    return tuple(check for check in checks if (getattr(check, "on_request", None) or "") in {"", *job.on_request})


def run(
    job: Job,
    checks: Sequence[Check],
    *,
    cheaply: bool = False,
    tick: Callable[[Sequence[str], int, int], None] = lambda _running, _done, _total: None,
) -> Iterator[Finished]:
    """Runs the checks; yields each answer when it is there.

    `cheaply`: costly ones only where the run has GPUs. `tick`: told ten times a second what runs, how many are done,
    and of how many. Whoever stops the iteration, by Ctrl-C or otherwise, ends all checks and what they started.
    """
    with contextlib.closing(Devices(job)) as devices:
        yield from _Runner(job, checks, devices, cheaply=cheaply).run(tick)
        began = time.monotonic()
        back = devices.wait_until_back()
        if back is not None:
            yield Finished(name=BACK, title="GPU memory is back", result=back, seconds=time.monotonic() - began)


class _Runner:
    def __init__(self, job: Job, checks: Sequence[Check], devices: Devices, *, cheaply: bool) -> None:
        self._job, self._checks, self._devices, self._cheaply = job, checks, devices, cheaply
        self._answers: queue.SimpleQueue[tuple[_Turn, Result | None]] = queue.SimpleQueue()
        self._turns: list[_Turn] = []
        self._failed: set[str] = set()

    def run(self, tick: Callable[[Sequence[str], int, int], None]) -> Iterator[Finished]:
        done = 0
        try:
            for lane in _lanes(self._checks):
                self._start(lane)
            while self._turns:
                tick([turn.check.name for turn in self._turns], done, len(self._checks))
                for turn, result in self._come():
                    done += 1
                    name, title = turn.check.name, turn.check.title
                    if result is not None and result.outcome == "failed":
                        self._failed.add(name)
                    self._turns.remove(turn)
                    self._start(turn.lane)
                    if result is not None:
                        yield Finished(name=name, title=title, result=result, seconds=turn.seconds)
        finally:
            self._end()

    def _start(self, lane: list[Check]) -> None:
        """The next of those that must not run at the same time."""
        if not lane:
            return
        turn = _Turn(lane[0], lane[1:])
        turn.thread = threading.Thread(target=self._answer, args=(turn,), name=turn.check.name, daemon=True)
        self._turns.append(turn)
        turn.thread.start()

    def _answer(self, turn: _Turn) -> None:
        result: Result | None
        try:
            result = self._result(turn.check, dataclasses.replace(self._job, stopping=turn.stopping))
        except InterpreterSilent as silent:
            result = Result(outcome="unchecked", evidence=str(silent))
        except Exception as error:  # noqa: BLE001  (whatever it is, it is this check's, and no other's)
            result = Result(outcome="unchecked", evidence=f"the check itself failed: {type(error).__name__}: {error}")
        self._answers.put((turn, result))

    def _result(self, check: Check, job: Job) -> Result | None:
        """Its answer; None: it is too costly for a run without GPUs."""
        if self._cheaply and getattr(check, "costly", False) and not self._devices.are_there():
            return None
        broken = [name for name in getattr(check, "needs", ()) if name in self._failed]
        if broken:
            return Result(outcome="unchecked", evidence=f"not tried, since {' and '.join(broken)} failed")
        if getattr(check, "uses_gpu_memory", False):
            obstacle = self._devices.obstacle()
            if obstacle is not None:
                return Result(
                    outcome="unchecked",
                    evidence=f"nothing is put on a GPU that is not known to be idle: {obstacle}",
                    next="again when it is free: grpotui gpus",
                )
            self._devices.is_used = True
            job = dataclasses.replace(job, environment={**job.environment, **self._devices.environment()})
        return check.run(job)

    def _come(self) -> list[tuple[_Turn, Result | None]]:
        """What has come in the next tenth of a second, and those whose time is up."""
        found: list[tuple[_Turn, Result | None]] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._answers.get(timeout=_TICK_S))
            while True:
                found.append(self._answers.get_nowait())
        found = [(turn, result) for turn, result in found if turn in self._turns]
        came = [turn for turn, _ in found]
        return found + [(turn, late) for turn in self._turns if turn not in came and (late := _late(turn)) is not None]

    def _end(self) -> None:
        """Tells all that still run to end, and waits until they have."""
        for turn in self._turns:
            turn.stopping.set()
        deadline = time.monotonic() + _SPARE_S
        for turn in self._turns:
            if turn.thread is not None:
                turn.thread.join(max(0.0, deadline - time.monotonic()))


def _late(turn: _Turn) -> Result | None:
    """First it is told to end; when it does not, it is left alone."""
    limit = turn.check.limit_s
    if turn.seconds > limit:
        turn.stopping.set()
    if turn.seconds <= limit + _SPARE_S:
        return None
    return Result(outcome="unchecked", evidence=f"the check did not come back within {limit:g} s")


def _lanes(checks: Sequence[Check]) -> list[list[Check]]:
    """Checks of one group behind each other, all others beside each other."""
    lanes: dict[str, list[Check]] = {}
    for check in checks:
        lanes.setdefault(getattr(check, "group", None) or f"alone {check.name}", []).append(check)
    return list(lanes.values())
