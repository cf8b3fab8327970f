"""`grpotui gpus`: every device, who holds it, and for which run; without GPUs, the reason."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import refused
from support.fake_gpus import gpu
from support.gpu_machine import GpuMachine
from support.schemas import check
from support.waiting import wait_until

from grpotui_supervisor.rundir import RunDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.runs import Home

TRAINER = """
import sys, time
file = open(sys.argv[1], "w")
print("step:7 - reward/mean:0.25", flush=True)
time.sleep(1000)
"""
UNMARKED = """
import os, sys, time
parent, file = os.getppid(), open(sys.argv[1], "w")
while os.getppid() == parent:  # it ends with its parent: it carries no mark by which it could be found and ended
    time.sleep(0.05)
"""
CHILD = f'import subprocess, sys\nsubprocess.run(["env", "-i", sys.executable, "-c", {UNMARKED!r}, sys.argv[1]])'


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[GpuMachine]:
    found = GpuMachine(tmp_path, count=4)
    yield found
    found.clean()


def profile(home: Home, machine: GpuMachine, code: str = TRAINER, more: str = "") -> str:
    argv = json.dumps(["{grpotui_python}", "-c", code, f"{machine.device_file}0"])
    return home.profile(
        f'name = "math"\nframework = "verl"\n[launch]\nmode = "ranks"\nnproc = 2\nargv = {argv}\n'
        f"terminate_seconds = 0.5\ninterrupt_seconds = 0.5\n{more}"
    )


def document(home: Home, machine: GpuMachine) -> dict[str, Any]:
    done = home.run("gpus", "--json", env=machine.env)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    check("gpus", found)
    assert isinstance(found, dict)
    return found


def text(home: Home, machine: GpuMachine) -> list[str]:
    done = home.run("gpus", env=machine.env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def line(lines: list[str], *words: str) -> str:
    """The one line with all of these words."""
    (found,) = [one for one in lines if all(word in one.split() for word in words)]
    return found


def test_without_any_run(home: Home, machine: GpuMachine) -> None:
    pid = machine.hold(1, "70GiB")
    machine.fake.write([
        gpu(0), gpu(1, util=97, power_mw=612000, temp=64), gpu(2, mem__base="12.3GiB"), gpu(3, ret=15),
    ])  # fmt: skip
    found = document(home, machine)
    assert [one["state"] for one in found["gpus"]] == ["idle", "held", "held", "lost"]
    assert (found["runs"], found["driver"], found["gpu_unavailable"]) == ([], "580.95.05", None)
    zero, one, two, three = found["gpus"]
    assert (one["utilization_percent"], one["power_w"], one["temperature_c"]) == (97, 612.0, 64)
    assert [(p["pid"], p["used_bytes"], p["run"]) for p in one["processes"]] == [(pid, 70 << 30, None)]
    assert (zero["unattributed_bytes"], one["unattributed_bytes"]) == (4 << 20, 4 << 20)
    assert two["unattributed_bytes"] == int(12.3 * (1 << 30))
    assert "nobody visible here" in two["evidence"]
    assert "lost" in three["unavailable"].lower()
    assert (three["processes"], three["used_bytes"], three["unattributed_bytes"]) == (None, None, None)
    assert not home.path.exists()

    lines = text(home, machine)
    assert max(map(len, lines)) <= 80
    assert line(lines, "1", "612").endswith("97 %  612 W  64 °C  held")
    assert "70.0 of 79.6 GiB" in line(lines, "1", "612")
    assert line(lines, str(pid)).split()[-2:] == ["GiB", "-"]
    assert "not visible here" in line(lines, "2", "here", "12.3")
    assert "GPU 3 cannot be read: GPU is lost" in lines


def test_a_process_of_a_run_is_told_with_rank_and_step(home: Home, machine: GpuMachine) -> None:
    path = profile(home, machine, more="[gpus]\ndevices = [0, 1]\n")
    run = home.run("launch", path, "--detach", env=machine.env).stdout.strip()
    ranks = {member["rank"]: member["pid"] for member in home.status(run)["ranks"]}
    wait_until(lambda: home.status(run)["step"] == 7, what="step 7")
    machine.fake.claim(0, ranks[1], "64GiB")
    found = document(home, machine)
    (process,) = found["gpus"][0]["processes"]
    assert (process["run"], process["member"], process["rank"]) == (run, "1", 1)
    (shown,) = found["runs"]
    assert (shown["run"], shown["state"], shown["step"]) == (run, "running", 7)
    assert shown["gpus"] == [{"gpu": "0", "listed": True}, {"gpu": "1", "listed": False}]
    lines = text(home, machine)
    assert line(lines, str(ranks[1])).endswith(f"math-…-{run[-4:]} rank 1")
    assert line(lines, run).split()[-4:] == ["running", "7", "0,", "1"]
    assert f"no process of math-…-{run[-4:]} is listed on GPU 1, which it has claimed" in "\n".join(lines)

    done = home.run("gpus", "--json")  # and where the devices cannot be read, what the runs have claimed
    assert done.returncode == 1
    check("gpus", json.loads(done.stdout))
    assert [use["listed"] for use in json.loads(done.stdout)["runs"][0]["gpus"]] == [None, None]


def test_a_process_that_has_lost_the_mark_is_found_by_its_descent(home: Home, machine: GpuMachine) -> None:
    run = home.run("launch", profile(home, machine, CHILD), "--detach", env=machine.env).stdout.strip()
    rank = home.status(run)["ranks"][0]["pid"]
    children = f"/proc/{rank}/task/{rank}/children"

    def unmarked() -> int:
        with open(children) as file:
            pids = [int(word) for word in file.read().split()]
        return next((pid for pid in pids if b"GRPOTUI_RUN_ID" not in _environ(pid)), 0)

    pid = wait_until(unmarked, what="a child without the mark")
    machine.fake.claim(2, pid, "1GiB")
    (process,) = wait_until(lambda: [p for p in document(home, machine)["gpus"][2]["processes"] if p["start"]])
    assert (process["run"], process["member"], process["rank"]) == (run, "0", 0)


def _environ(pid: int) -> bytes:
    with open(f"/proc/{pid}/environ", "rb") as file:
        return file.read()


def test_the_name_of_a_process_is_not_obeyed(home: Home, machine: GpuMachine) -> None:
    program = machine.folder / "\x1b[31mred"
    program.symlink_to(os.path.realpath(sys.executable))
    machine.hold(0, "1GiB", program=str(program))
    done = home.run("gpus", env=machine.env)
    assert "red" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stdout.count("\n") == len(done.stdout.splitlines())


def test_graphics_and_an_old_driver(home: Home, tmp_path: Path) -> None:
    machine = GpuMachine(tmp_path, count=1, variant="r470")
    machine.hold(0, "300MiB", "G")
    (found,) = document(home, machine)["gpus"]
    lines = text(home, machine)
    machine.clean()
    assert (found["kind"], found["state"], found["reserved_bytes"]) == ("v1", "idle", None)
    assert "(graphics)" in "\n".join(lines)
    assert "GPU 0: this driver counts what it keeps for itself as used" in lines
    assert not any("not visible here" in one for one in lines)  # the 632 MiB are the driver's own


def test_without_nvml(home: Home) -> None:
    done = home.run("gpus")
    refused(done, 1, "libnvidia-ml.so.1", "nvidia-smi")
    done = home.run("gpus", "--json")
    assert done.returncode == 1
    check("gpus", json.loads(done.stdout))
    assert "libnvidia-ml.so.1" in json.loads(done.stdout)["gpu_unavailable"]


def test_without_devices(home: Home, machine: GpuMachine) -> None:
    machine.fake.write([])
    assert text(home, machine) == ["driver 580.95.05, CUDA up to 13.0: it has no GPU"]


def test_ended_runs_cost_next_to_nothing(home: Home, machine: GpuMachine) -> None:
    """200 of them: 0.01 s; a look into each would cost 2 s."""
    run = home.launch(home.ranks_profile("exit0"))
    home.wait_for_state(run, "ended")
    wait_until(lambda: not _is_locked(home, run), what="the end of the monitor")
    alone = _seconds(home, machine)
    template = home.directory(run)
    for number in range(200):
        copy = template.with_name(f"{run}-{number}")
        copy.mkdir(mode=0o700)
        for file in template.iterdir():
            if file.is_file():
                (copy / file.name).write_bytes(file.read_bytes())
    assert _seconds(home, machine) < alone + 0.3


def _is_locked(home: Home, run: str) -> bool:
    return RunDirectory(str(home.directory(run))).is_locked("monitor.lock")


def _seconds(home: Home, machine: GpuMachine) -> float:
    """Of the quickest of three."""
    times = []
    for _ in range(3):
        began = time.monotonic()
        document(home, machine)
        times.append(time.monotonic() - began)
    return min(times)
