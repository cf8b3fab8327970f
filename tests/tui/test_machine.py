"""What the start screen is told of each run: only what was observed, at a bounded cost."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from support.machine import state_root
from support.waiting import wait_until

from grpotui.tui.feed import machine as machines
from grpotui.tui.feed.machine import Machine
from grpotui_supervisor.errors import GpuUnavailable
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from grpotui.tui.feed.machine import MachineFrame


def looked(machine: Machine, holds: Any) -> MachineFrame:
    """The frame in which it holds; ends the thread."""
    machine.start(lambda: None)
    try:
        wait_until(lambda: holds(machine.frame), what="the frame")
    finally:
        machine.close()
    assert machine.error is None
    return machine.take()


def all_read(frame: MachineFrame) -> bool:
    return frame.unread == 0 and all(row.logs is None for row in frame.runs)


def test_rows_say_what_status_says(tmp_path: Path) -> None:
    root = state_root(tmp_path, ["one-gpu", "sigkill"])
    frame = looked(Machine(str(root)), all_read)
    for row in frame.runs:
        source = Source(RunDirectory(row.path))
        document, _ = look_now(source)
        assert (row.state, row.verdict, row.step) == (document["state"], document["verdict"], document["step"])
        assert row.reward == ("reward/mean", document["metrics"]["reward/mean"])
        assert row.took_s == max(member["ended_offset_s"] for member in document["ranks"])
        assert row.began_t == source.start_t
        assert not row.can_stop


def test_a_long_log_is_read_when_its_run_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "_LONG", 1000)
    frame = looked(
        Machine(str(state_root(tmp_path, ["sigkill"]))),
        lambda frame: frame.runs and "is read when the run is opened" in (frame.runs[0].logs or ""),
    )
    (row,) = frame.runs
    assert (row.step, row.reward) == (None, None)
    assert row.verdict == "failed"  # that its processes tell


def test_what_has_ended_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def counted(source: Source) -> Any:
        looks.append(source.directory.run_id)
        return look_now(source)

    monkeypatch.setattr(machines, "look_now", counted)
    monkeypatch.setattr(machines, "_PERIOD_S", 0.02)
    machine = Machine(str(state_root(tmp_path, ["sigkill", "one-gpu"])))
    rounds: list[int] = []

    def no_gpus() -> MachineFrame:
        rounds.append(1)
        return machine.frame

    monkeypatch.setattr(machine, "_look_at_gpus", no_gpus)
    looked(machine, lambda frame: all_read(frame) and len(rounds) > 5)
    assert sorted(looks) == ["one-gpu", "one-gpu", "sigkill", "sigkill"]  # its processes, then its log


def test_a_driver_that_hangs_delays_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    class Hanging:
        def __init__(self, seconds: float) -> None:
            assert seconds <= 1

        def look(self) -> None:
            released.wait(0.5)
            raise GpuUnavailable("NVML did not answer within 1 s")

        def close(self) -> None:
            released.set()

    monkeypatch.setattr(machines, "Looker", Hanging)
    frame = looked(Machine(str(state_root(tmp_path, ["sigkill"]))), lambda frame: all_read(frame) and frame.gpu_reason)
    assert frame.gpus is None
    assert "did not answer" in (frame.gpu_reason or "")
    assert released.is_set()


def test_it_ends_at_once_in_the_middle_of_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = threading.Event()

    def slow(self: Machine, _: int) -> None:
        reading.set()
        for _ in range(100):
            self._breathe(0.5)

    monkeypatch.setattr(Machine, "_on_read", slow)
    machine = Machine(str(state_root(tmp_path, ["sigkill"])))
    machine.start(lambda: None)
    assert reading.wait(20)
    began = time.monotonic()
    machine.close()
    assert time.monotonic() - began < 10  # of the 50 s that the reading takes
    assert machine.error is None
    assert machine._thread is not None
    assert not machine._thread.is_alive()
