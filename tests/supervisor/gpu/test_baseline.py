"""The idle baseline: through a real library, in time, and with the names of who is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.fake_gpus import gpu
from support.gpu_machine import GpuMachine
from support.waiting import wait_until

from grpotui_supervisor.errors import GpuUnavailable
from grpotui_supervisor.gpu import baseline, naming
from grpotui_supervisor.gpu.idle import Seen
from grpotui_supervisor.model.gpu import Device, ProcessList, Reading
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TAKE = """
import json, sys, time
from grpotui_supervisor.errors import GpuUnavailable
from grpotui_supervisor.gpu.baseline import Looker, document
looker = Looker(float(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    began = time.monotonic()
    try:
        found = document(looker.look(), ["0"], ["s3cr3t-value"])
    except GpuUnavailable as reason:
        found = {"unavailable": str(reason)}
    print(json.dumps([time.monotonic() - began, found]), flush=True)
looker.close()
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[GpuMachine]:
    found = GpuMachine(tmp_path)
    yield found
    found.clean()


def take(machine: GpuMachine, seconds: float = 10, times: int = 1, **env: str) -> list[Any]:
    """Answers of a Looker in a process of its own, each with the seconds it took."""
    done = subprocess.run(
        [sys.executable, "-c", TAKE, str(seconds), str(times)],
        env={**os.environ, **machine.env, **env}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_device_with_who_is_on_it(machine: GpuMachine) -> None:
    pid, stranger = machine.hold(1, "70GiB"), 3_999_999
    machine.fake.claim(0, os.getpid(), "1GiB")  # which exists, and has none of the driver's files open
    machine.change(0, proc__0=f"{stranger} C 20MiB")
    [[_, found]] = take(machine)
    assert (found["driver"], found["cuda"]) == ("580.95.05", "13.0")
    zero, one = found["devices"]
    assert (zero["gpu"], zero["in_run"], one["in_run"], one["kind"]) == ("0", True, False, "v2")
    strangers = {(p["pid"], p["start"], p["name"], p["user"]) for p in zero["processes"]}
    assert strangers == {(stranger, None, None, None), (os.getpid(), None, None, None)}
    (holder,) = one["processes"]
    assert holder["pid"] == pid
    name = os.path.basename(sys.executable)
    assert (holder["name"], holder["type"], holder["used_bytes"]) == (name, "compute", 70 << 30)
    known = procfs.stat(pid)
    assert known is not None
    assert (holder["start"], holder["user"]) == (known.start, naming.login(os.getuid()))
    assert one["used_bytes"] == (70 << 30) + (4 << 20)
    assert one["idle"] is False
    assert f"(pid {pid}, " in one["idle_evidence"]


def test_a_device_that_is_lost_hides_no_other(machine: GpuMachine) -> None:
    machine.fake.write([gpu(0, ret=15), gpu(1)])
    [[_, found]] = take(machine)
    zero, one = found["devices"]
    assert (zero["uuid"], zero["idle"], zero["used_bytes"]) == (None, None, None)
    assert "lost" in zero["unavailable"].lower()
    assert (one["idle"], one["unavailable"]) == (True, None)


def test_a_driver_that_hangs_keeps_nobody(machine: GpuMachine) -> None:
    """And the answer that comes late is the next look's."""
    machine.fake.write(machine.fake.gpus, delay_us__nvmlDeviceGetCount_v2=1_500_000)
    answers = take(machine, seconds=0.3, times=30)
    assert answers[0][1] == {"unavailable": "NVML did not answer within 0.3 s"}
    assert all(seconds < 1.4 for seconds, _ in answers)
    assert any("devices" in found for _, found in answers)


def test_without_a_driver_the_reason_is_told_each_time() -> None:
    looker = baseline.Looker()
    for _ in range(2):
        with pytest.raises(GpuUnavailable, match=r"libnvidia-ml\.so\.1"):
            looker.look()
    looker.close()


def test_names_are_kept_free_of_secrets(machine: GpuMachine) -> None:
    program = machine.folder / "s3cr3t-value"
    program.symlink_to(os.path.realpath(sys.executable))
    pid = machine.hold(0, "1GiB", program=str(program))
    [[_, found]] = take(machine)
    (holder,) = found["devices"][0]["processes"]
    assert (holder["pid"], holder["name"]) == (pid, "<redacted>")
    assert "s3cr3t" not in json.dumps(found)


def test_a_name_is_told_in_full_where_the_kernel_cuts_it(machine: GpuMachine) -> None:
    link = machine.folder / "nvidia-cuda-mps-server"
    link.symlink_to(os.path.realpath(sys.executable))
    pid = machine.hold(0, "880MiB", program=str(link))
    [[_, found]] = take(machine)
    assert found["devices"][0]["processes"][0]["name"] == "nvidia-cuda-mps-server"
    assert (found["devices"][0]["processes"][0]["pid"], found["devices"][0]["idle"]) == (pid, True)


def test_where_the_driver_would_detach_the_library_stays_open_until_the_monitor_has_read(tmp_path: Path) -> None:
    class Recorder:
        closed = threading.Event()

        def close(self) -> None:
            self.closed.set()

    def seen(*, persistence: bool | None) -> Any:
        return baseline.Snapshot(driver="", cuda=None, m=0, t=0, seen=(_seen(persistence=persistence),))

    path, recorder = tmp_path / "gpu.jsonl", Recorder()
    baseline.hand_over(recorder, seen(persistence=True), str(path))  # type: ignore[arg-type]
    assert recorder.closed.is_set()
    recorder.closed.clear()
    baseline.hand_over(recorder, seen(persistence=False), str(path))  # type: ignore[arg-type]
    path.write_text('{"ev":"nvml","m":1,"seq":1}\n')
    time.sleep(0.2)
    assert not recorder.closed.is_set()
    with path.open("a") as file:
        file.write('{"ev":"gpus","m":2,"seq":2,"read":{}}\n')
    wait_until(recorder.closed.is_set, what="the library to be closed")


def _seen(*, persistence: bool | None) -> Seen:
    return Seen(
        device=Device(key="0", index=0, uuid="GPU-0", persistence=persistence),
        reading=Reading(),
        listed=ProcessList(),
    )
