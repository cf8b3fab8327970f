"""What a launch makes of devices that are not free: it warns, refuses, or waits; and the baseline it writes down."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import of_home, refused
from support.gpu_machine import GpuMachine
from support.schemas import check_directory
from support.waiting import wait_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from support.runs import Home


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[GpuMachine]:
    found = GpuMachine(tmp_path)
    yield found
    found.clean()


def facts(home: Home, run: str) -> dict[str, Any]:
    check_directory(home.directory(run))
    found = json.loads((home.directory(run) / "run.json").read_text())
    assert isinstance(found, dict)
    return found


def own(found: dict[str, Any]) -> list[str]:
    return [device["gpu"] for device in found["gpus"]["devices"] if device["in_run"]]


def launched(home: Home, machine: GpuMachine, mode: str = "exit0", *settings: str, **env: str) -> tuple[str, str]:
    """Run id, and what was said."""
    words = [word for setting in settings for word in ("--set", setting)]
    done = home.run("launch", home.ranks_profile(mode), "--detach", *words, env={**machine.env, **env})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def waiting(home: Home, machine: GpuMachine, wait: str, *words: str, mode: str = "sleep") -> subprocess.Popen[str]:
    """A launch that has said that it waits, and for whom."""
    path = home.ranks_profile(mode)
    process = home.start("launch", path, *words, "--set", f"gpus.wait={wait}", env=machine.env)
    assert process.stderr is not None
    said = process.stderr.readline() + process.stderr.readline()
    assert said.startswith(f"grpotui: waiting up to {wait} for the run's GPUs:\n  GPU "), said
    assert "is not idle" in said
    return process


def runs(home: Home) -> list[str]:
    return sorted(path.name for path in (home.path / "runs").glob("*"))


def test_the_baseline_is_in_run_json(home: Home, machine: GpuMachine) -> None:
    run, said = launched(home, machine, "exit0", CUDA_VISIBLE_DEVICES="1")
    found = facts(home, run)
    assert (said, found["notes"], found["gpu_unavailable"]) == ("", [], None)
    assert own(found) == ["1"]
    assert [device["used_bytes"] for device in found["gpus"]["devices"]] == [4 << 20] * 2
    assert all(device["idle"] for device in found["gpus"]["devices"])
    spawned = next(record for record in home.records(run) if record["ev"] == "spawned")
    assert found["gpus"]["m"] < spawned["m"]


def test_the_devices_of_the_profile_and_of_a_companion(home: Home, machine: GpuMachine) -> None:
    run, _ = launched(home, machine, "exit0", 'gpus.devices=["GPU-00000000-0000-0000-0000-000000000001"]')
    assert own(facts(home, run)) == ["1"]
    companion = '[companions.judge]\nargv = ["true"]\nenv = {CUDA_VISIBLE_DEVICES = "1"}\n'
    path = home.ranks_profile("exit0", launch='env = {CUDA_VISIBLE_DEVICES = "0"}', more=companion)
    done = home.run("launch", path, "--detach", env=machine.env)
    assert own(facts(home, done.stdout.strip())) == ["0", "1"]


def test_a_device_of_the_profile_that_is_not_there(home: Home, machine: GpuMachine) -> None:
    done = home.run("launch", home.ranks_profile("exit0"), "--set", "gpus.devices=[0,7]", env=machine.env)
    refused(done, 2, "the GPU 7 of the profile", "1 (GPU-00000000-0000-0000-0000-000000000001)")
    assert runs(home) == []
    done = home.run("launch", home.ranks_profile("exit0"), "--set", "gpus.devices=[0,7]", "--detach")
    assert done.returncode == 0  # nobody can tell
    assert "the GPUs of the profile are not looked at: no NVIDIA driver library here" in done.stderr


def test_without_nvml_nothing_is_said_unless_the_profile_asks(home: Home) -> None:
    done = home.run("launch", home.ranks_profile("exit0"), "--detach")
    assert (done.returncode, done.stderr) == (0, "")
    found = facts(home, done.stdout.strip())
    assert found["gpus"] is None
    assert "no NVIDIA driver library here: libnvidia-ml.so.1" in found["gpu_unavailable"]
    for setting in ("gpus.wait=30m", "gpus.busy=refuse"):
        refused(home.run("launch", home.ranks_profile("exit0"), "--set", setting), 3, "cannot be honoured")
    assert len(runs(home)) == 1


def test_a_busy_device_is_said_and_written_down(home: Home, machine: GpuMachine) -> None:
    pid = machine.hold(1, "70.1GiB")
    run, said = launched(home, machine)
    (note,) = facts(home, run)["notes"]
    assert said == f"grpotui: {note}\n"
    assert note.startswith("GPU 1 is not idle: ")
    assert f"(pid {pid}, " in note
    assert note.endswith("holds 70.1 GiB")
    run, said = launched(home, machine, "exit0", "gpus.devices=[0]")
    assert (said, facts(home, run)["notes"]) == ("", [])  # another's device is no matter of this run


def test_a_dry_run_says_whether_they_are_idle_and_waits_for_nothing(home: Home, machine: GpuMachine) -> None:
    machine.change(1, mem__base="12.3GiB")
    began = time.monotonic()
    done = home.run("launch", home.ranks_profile("exit0"), "--dry-run", "--set", "gpus.wait=30m", env=machine.env)
    assert (done.returncode, done.stderr, time.monotonic() - began < 20) == (0, "", True)
    assert done.stdout.splitlines()[-2:] == [
        "# GPU 0 is idle: 4 MiB used, no compute process",
        "# GPU 1 is not idle: 12.3 GiB are used by nobody visible here: another container?",
    ]
    assert not home.path.exists()


def test_busy_devices_are_refused_where_the_profile_says_so(home: Home, machine: GpuMachine) -> None:
    pid = machine.hold(0, "1GiB")
    path = home.ranks_profile("exit0")
    refused(home.run("launch", path, "--set", "gpus.busy=refuse", env=machine.env), 3, "GPU 0 is not idle", f"{pid}")
    machine.end(pid)
    machine.change(0, ret__nvmlDeviceGetComputeRunningProcesses_v3=3)  # and what is not known is not idle
    done = home.run("launch", path, "--set", "gpus.busy=refuse", env=machine.env)
    refused(done, 3, "whether GPU 0 is idle is not known")
    assert runs(home) == []


def test_it_waits_until_they_are_idle(home: Home, machine: GpuMachine) -> None:
    pid = machine.hold(1, "1GiB")
    process = waiting(home, machine, "5m", "--detach")
    assert runs(home) == []
    machine.end(pid)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, runs(home)) == (0, [out.strip()]), err
    assert "the run's GPUs are free after" in err
    found = facts(home, out.strip())
    assert (found["notes"], found["gpus"]["devices"][1]["idle"]) == ([], True)


def test_when_the_time_is_up_the_holders_are_named(home: Home, machine: GpuMachine) -> None:
    pid = machine.hold(1, "1GiB")
    began = time.monotonic()
    done = home.run("launch", home.ranks_profile("exit0"), "--set", "gpus.wait=1s", env=machine.env)
    assert time.monotonic() - began >= 1
    assert (done.returncode, done.stdout) == (3, "")
    assert "did not become free within 1s" in done.stderr
    assert done.stderr.count(f"(pid {pid}, ") == 2
    assert (runs(home), of_home(home)) == ([], {})


@pytest.mark.parametrize("words", [(), ("--detach",), ("--json",)])
def test_ctrl_c_ends_the_wait_and_leaves_nothing(home: Home, machine: GpuMachine, words: tuple[str, ...]) -> None:
    machine.hold(1, "1GiB")
    process = waiting(home, machine, "5m", *words)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, runs(home)) == (130, "", [])
    assert err.endswith("grpotui: interrupted\n")
    assert "Traceback" not in err
    assert of_home(home) == {}


def test_of_two_that_wait_for_the_same_device_one_starts(home: Home, machine: GpuMachine) -> None:
    pid = machine.hold(0, "1GiB")
    both = [waiting(home, machine, "5m", "--detach") for _ in range(2)]
    machine.end(pid)
    first = wait_until(lambda: next((p for p in both if p.poll() is not None), None), what="one of them to start")
    assert first.returncode == 0
    (other,) = [p for p in both if p is not first]
    run = first.communicate()[0].strip()
    wait_until(lambda: [r for r in home.records(run) if r["ev"] == "spawned"], what="its rank")
    time.sleep(4.5)  # two looks of the other: the first one's process is on no device, and its claim counts
    assert (other.poll(), runs(home)) == (None, [run])
    home.run("stop", run)
    out, err = other.communicate(timeout=60)
    assert other.returncode == 0, err
    assert runs(home) == sorted([run, out.strip()])


def test_what_counts_is_what_is_seen_under_the_lock(home: Home, machine: GpuMachine) -> None:
    """Another launch holds it: meanwhile the device that was free is taken."""
    home.path.mkdir(mode=0o700)
    lock = home.path / "gpus.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = home.start("launch", home.ranks_profile("exit0"), "--set", "gpus.busy=refuse", env=machine.env)
        wait_until(lambda: str(lock) in _open_files(process.pid), what="the launch to ask for the lock")
        pid = machine.hold(0, "1GiB")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, runs(home)) == (3, "", [])
    assert f"(pid {pid}, " in err


def _open_files(pid: int) -> set[str]:
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(str(link.readlink()))
    return found


def test_a_device_that_a_live_run_has_claimed_is_not_free(home: Home, machine: GpuMachine) -> None:
    first, _ = launched(home, machine, "sleep", "gpus.devices=[1]")
    run, said = launched(home, machine)
    assert said == f"grpotui: GPU 1 is used by the live run {first}\n"
    assert facts(home, run)["notes"] == [f"GPU 1 is used by the live run {first}"]
    done = home.run("launch", home.ranks_profile("exit0"), "--set", "gpus.busy=refuse", env=machine.env)
    refused(done, 3, f"GPU 1 is used by the live run {first}")
    home.run("stop", first)
    home.wait_for_state(first, "ended")
    _, said = launched(home, machine)
    assert said == ""


def test_a_run_without_devices_waits_for_none(home: Home, machine: GpuMachine) -> None:
    machine.hold(0, "1GiB")
    run, said = launched(home, machine, "exit0", "gpus.devices=[]", "gpus.wait=30m", "gpus.busy=refuse")
    assert (said, own(facts(home, run))) == ("", [])


def test_numbers_whose_order_is_cuda_s_own_secret(home: Home, machine: GpuMachine) -> None:
    machine.change(1, name="NVIDIA L4")
    env = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    run, said = launched(home, machine, "exit0", **env)
    assert own(facts(home, run)) == ["0", "1"]
    assert "which GPUs CUDA_VISIBLE_DEVICES means is not known" in said


def test_a_driver_that_hangs_delays_a_launch_and_no_more(home: Home, machine: GpuMachine) -> None:
    machine.fake.write(machine.fake.gpus, delay_us__nvmlInitWithFlags=60_000_000)
    run, _ = launched(home, machine)
    found = facts(home, run)
    assert (found["gpus"], found["gpu_unavailable"]) == (None, "NVML did not answer within 10 s")
