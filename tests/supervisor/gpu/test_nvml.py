"""Devices, readings and process lists, by the real binding from a stand-in for the driver's library."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING, Any

import pynvml
import pytest
from support.fake_gpus import FILE, LIBRARY, MIB, FakeGpus, gpu, instance, library, slot
from support.gpu_child import GpuChild

from grpotui_supervisor.gpu import binding

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = ("used_bytes", "utilization_percent", "power_w", "temperature_c", "clock_reasons")


def fakes(folder: Path, *gpus: dict[str, Any], variant: str = "modern", **top: Any) -> FakeGpus:
    found = FakeGpus(folder, variant, list(gpus))
    found.write(list(gpus), **top)
    return found


def why(env: dict[str, str], **words: Any) -> list[Any]:
    """Type, message, hint and whether it may pass, of an Nvml that does not open."""
    with GpuChild(env, **words) as child:
        found: list[Any] = child("why")
        return found


def pids(listed: dict[str, Any]) -> dict[int, int | None]:
    return {one["pid"]: one["used_bytes"] for one in listed["processes"]}


def test_without_a_driver_library_it_says_so_for_good() -> None:
    kind, message, _, may_pass = why({"LD_LIBRARY_PATH": ""})
    assert kind == "GpuUnavailable"
    assert "no NVIDIA driver library here" in message
    assert "libnvidia-ml.so.1" in message
    assert not may_pass


def test_another_module_of_the_bindings_name_is_told(tmp_path: Path) -> None:
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong/pynvml.py").write_text("def nvmlInit(): ...")
    _, message, hint, may_pass = why(fakes(tmp_path, gpu(0)).env(), path=str(tmp_path / "wrong"))
    assert message == "the module pynvml is not nvidia-ml-py's"
    assert "nvidia-ml-py" in hint
    assert not may_pass


def test_a_binding_that_lacks_the_newest_functions_is_enough(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0))
    (tmp_path / "old").mkdir()
    (tmp_path / "old/pynvml.py").write_text(
        "import importlib.util as u, sys\n"
        f"spec = u.spec_from_file_location('newest', {pynvml.__file__!r})\n"
        "newest = sys.modules['newest'] = u.module_from_spec(spec)\n"
        "spec.loader.exec_module(newest)\n"
        "globals().update(vars(newest))\n"
        "del nvmlDeviceGetTemperatureV, nvmlDeviceGetNumaNodeId\n"
    )
    with GpuChild(fake.env(), path=str(tmp_path / "old")) as nvml:
        assert nvml("devices")[0]["numa"] is False
        assert nvml("read", "0")["temperature_c"] == 33


def test_a_driver_that_does_not_fit_is_told_with_both_versions(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0), ret__init=18)
    (tmp_path / "lib").mkdir()
    shutil.copy(f"{library()}/{FILE}", tmp_path / "lib" / f"{LIBRARY}.590.48.01")
    os.symlink(f"{LIBRARY}.590.48.01", tmp_path / "lib" / f"{LIBRARY}.1")
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder)  Tue\n"
        "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
    )
    env = {**fake.env(), "LD_LIBRARY_PATH": str(tmp_path / "lib")}
    _, message, hint, may_pass = why(env, constants={"binding._KERNEL_MODULE": str(tmp_path / "version")})
    assert "different versions (kernel module 580.159.04, library 590.48.01)" in message
    assert "reboot" in hint
    assert may_pass


def test_versions_that_cannot_be_found_are_unknown(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0), ret__init=18)
    _, message, _, _ = why(fake.env(), constants={"binding._KERNEL_MODULE": str(tmp_path / "none")})
    assert "(kernel module unknown, library 580.95.05)" in message


def test_a_driver_that_is_not_loaded(tmp_path: Path) -> None:
    _, message, hint, may_pass = why(fakes(tmp_path, gpu(0), ret__init=9).env())
    assert "Driver Not Loaded" in message
    assert "modprobe" in hint
    assert may_pass


@pytest.mark.parametrize("there", [False, True])
def test_an_unknown_error_comes_with_what_the_control_device_says(tmp_path: Path, there: bool) -> None:
    control = tmp_path / "nvidiactl"
    if there:
        control.touch()
    constants = {"binding._CONTROL": str(control)}
    _, message, hint, _ = why(fakes(tmp_path, gpu(0), ret__init=999).env(), constants=constants)
    assert "Unknown Error" in message
    assert ("nvidiactl: No such file" in message) == (not there)
    assert "dmesg" in hint


@pytest.mark.parametrize(("number", "word"), [(errno.EPERM, "device cgroup"), (errno.EACCES, "this user may not")])
def test_what_to_do_about_a_control_device_that_cannot_be_opened(number: int, word: str) -> None:
    assert word in binding._hint(number)


def test_no_device(tmp_path: Path) -> None:
    with GpuChild(fakes(tmp_path).env()) as nvml:
        assert nvml("devices") == []
        assert nvml("driver") == "580.95.05"
        assert nvml("cuda") == "13.0"
        assert nvml("read", "0")["lost"] == "no such device"
        assert nvml("processes", "0")["reason"] == "no such device"


def test_devices_that_cannot_be_counted_are_not_none(tmp_path: Path) -> None:
    _, message, _, _ = why(fakes(tmp_path, gpu(0), ret__nvmlDeviceGetCount_v2=999).env())
    assert "how many devices" in message


def test_one_device(tmp_path: Path) -> None:
    with GpuChild(fakes(tmp_path, gpu(0, util=37, mem__base="1GiB")).env()) as nvml:
        (device,) = nvml("devices")
        assert device == {
            "is": "Device", "key": "0", "index": 0, "uuid": "GPU-00000000-0000-0000-0000-000000000000",
            "name": "NVIDIA H100 80GB HBM3", "bus_id": "00000000:18:00.0", "total_bytes": 85520809984,
            "reserved_bytes": 628 * MIB, "kind": "v2", "mig": False, "parent": None, "numa": False, "persistence": True,
            "unavailable": None,
            "health": {"is": "Health", "ecc_uncorrected": None, "remap_pending": False, "remap_failed": False},
        }  # fmt: skip
        assert nvml("read", "0") == {
            "is": "Reading", "used_bytes": 1024 * MIB, "utilization_percent": 37, "power_w": 69.0, "temperature_c": 33,
            "clock_reasons": 1, "absent": {}, "lost": None,
        }  # fmt: skip


def test_eight_devices_are_told_apart(tmp_path: Path) -> None:
    with GpuChild(fakes(tmp_path, *[gpu(i, mem__base=f"{i}MiB") for i in range(8)]).env()) as nvml:
        devices = nvml("devices")
        assert [device["key"] for device in devices] == [str(i) for i in range(8)]
        assert len({device["uuid"] for device in devices}) == 8
        assert [nvml("read", str(i))["used_bytes"] for i in range(8)] == [i * MIB for i in range(8)]


@pytest.mark.parametrize("variant", ["r470", "r440"])
def test_old_drivers_count_what_they_reserve_as_used(tmp_path: Path, variant: str) -> None:
    fake = fakes(tmp_path, gpu(0), variant=variant)
    fake.claim(0, os.getpid(), "1GiB")
    with GpuChild(fake.env()) as nvml:
        (device,) = nvml("devices")
        assert (device["kind"], device["reserved_bytes"]) == ("v1", None)
        assert nvml("read", "0")["used_bytes"] == (1024 + 4 + 628) * MIB
        assert nvml("processes", "0")["processes"] == [
            {"is": "GpuProcess", "pid": os.getpid(), "type": "compute", "used_bytes": 1024 * MIB}
        ]


def test_a_field_that_the_device_does_not_have_is_absent_with_the_reason(tmp_path: Path) -> None:
    bare = gpu(0, util=None, power_mw=None, temp=None, clock_reasons=None, persistence=None, remapped=None)
    with GpuChild(fakes(tmp_path, bare).env()) as nvml:
        (device,) = nvml("devices")
        assert device["persistence"] is None
        assert set(device["health"].values()) == {None, "Health"}
        reading = nvml("read", "0")
        assert reading["absent"] == dict.fromkeys(FIELDS[1:], "Not Supported")
        assert [reading[field] for field in FIELDS[1:]] == [None] * 4
        assert reading["used_bytes"] == 4 * MIB


def test_a_call_that_failed_once_is_made_again_unless_it_never_can(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0, ret__nvmlDeviceGetPowerUsage=999, ret__nvmlDeviceGetUtilizationRates=3))
    with GpuChild(fake.env()) as nvml:
        nvml("devices")
        assert nvml("read", "0")["absent"] == {"power_w": "Unknown Error", "utilization_percent": "Not Supported"}
        fake.write([gpu(0)])
        assert nvml("read", "0")["absent"] == {"utilization_percent": "Not Supported"}


def test_figures_that_contradict_each_other_are_no_reading(tmp_path: Path) -> None:
    with GpuChild(fakes(tmp_path, gpu(0, mem__used="200GiB")).env()) as nvml:
        nvml("devices")
        reading = nvml("read", "0")
        assert reading["used_bytes"] is None
        assert "contradict" in reading["absent"]["used_bytes"]


def test_a_lost_device_does_not_hide_the_next_and_comes_back_by_its_uuid(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0), gpu(1, mem__base="7MiB"))
    with GpuChild(fake.env()) as nvml:
        nvml("devices")
        fake.write([gpu(0, ret=15), gpu(1, mem__base="7MiB")])
        assert nvml("read", "0") == {
            "is": "Reading", **dict.fromkeys(FIELDS), "absent": {}, "lost": "GPU is lost"
        }  # fmt: skip
        assert nvml("processes", "0")["reason"] == "GPU is lost"
        assert nvml("read", "1")["used_bytes"] == 7 * MIB
        fake.write([gpu(1, mem__base="7MiB"), gpu(0, mem__base="5MiB")])  # the other way round, as after a reset
        assert nvml("read", "0")["used_bytes"] == 5 * MIB


@pytest.mark.parametrize("number", [15, 16, 999])
def test_a_device_that_is_lost_when_it_is_sought_is_found_by_its_place(tmp_path: Path, number: int) -> None:
    fake = fakes(tmp_path, gpu(0, ret=number), gpu(1))
    with GpuChild(fake.env()) as nvml:
        lost, other = nvml("devices")
        assert (lost["uuid"], lost["kind"], lost["total_bytes"]) == (None, None, None)
        assert lost["unavailable"]
        assert other["unavailable"] is None
        assert nvml("read", "0")["lost"]
        fake.write([gpu(0), gpu(1)])
        assert nvml("read", "0")["used_bytes"] == 4 * MIB
        assert nvml("devices")[0]["uuid"] == gpu(0)["uuid"]


def test_a_library_that_another_part_closed_is_opened_anew_once(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0))
    with GpuChild(fake.env()) as nvml:
        nvml("devices")
        fake.write([gpu(0)], shut=1)
        assert nvml("read", "0")["used_bytes"] == 4 * MIB
        fake.write([gpu(0)], shut=2)
        assert nvml("read", "0")["lost"] == "Uninitialized"


def test_memory_that_nobody_may_read_is_not_shared_memory(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0, ret__nvmlDeviceGetMemoryInfo_v2=4))
    with GpuChild(fake.env()) as nvml:
        (device,) = nvml("devices")
        assert (device["kind"], device["unavailable"]) == (None, "memory: Insufficient Permissions")
        assert nvml("read", "0")["absent"] == {"used_bytes": "Insufficient Permissions"}


def test_the_kind_of_memory_figure_stays_when_a_call_fails_once(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0))
    with GpuChild(fake.env()) as nvml:
        nvml("devices")
        fake.write([gpu(0, ret__nvmlDeviceGetMemoryInfo_v2=999)])
        assert nvml("read", "0")["used_bytes"] is None  # and not 632 MiB, which v1 would tell
        assert nvml("devices")[0]["kind"] == "v2"


@pytest.mark.parametrize("total", [None, 0])
def test_a_device_without_memory_of_its_own_is_read_by_its_processes(tmp_path: Path, total: int | None) -> None:
    fake = fakes(tmp_path, gpu(0, mem__total=total, mem__reserved=0, mem__base=0))
    fake.claim(0, os.getpid(), "3GiB")
    with GpuChild(fake.env()) as nvml:
        (device,) = nvml("devices")
        assert (device["kind"], device["total_bytes"], device["unavailable"]) == ("lists", None, None)
        assert nvml("read", "0")["used_bytes"] == 3 << 30
        fake.write([gpu(0, mem__total=total, mem__reserved=0, mem__base=0, proc_mem_na=1)])
        assert "does not tell" in nvml("read", "0")["absent"]["used_bytes"]


def test_a_device_that_is_a_numa_node(tmp_path: Path) -> None:
    with GpuChild(fakes(tmp_path, gpu(0, numa_node=0), gpu(1)).env()) as nvml:
        assert [device["numa"] for device in nvml("devices")] == [True, False]


def test_signs_of_failing_memory(tmp_path: Path) -> None:
    ill = gpu(0, remapped="0 3 1 1", ecc__unc__agg=12)
    with GpuChild(fakes(tmp_path, ill).env()) as nvml:
        assert nvml("devices")[0]["health"] == {
            "is": "Health", "ecc_uncorrected": 12, "remap_pending": True, "remap_failed": True
        }  # fmt: skip


def test_mig_instances_are_devices_behind_their_parent(tmp_path: Path) -> None:
    split = gpu(0, mig=1, mig_max=7, instances={0: instance(0, 0), 3: instance(0, 3)})
    fake = fakes(tmp_path, split, gpu(1))
    fake.claim(slot(0, 3), os.getpid(), "2GiB")
    with GpuChild(fake.env()) as nvml:
        devices = nvml("devices")
        assert [device["key"] for device in devices] == ["0", "0:0", "0:3", "1"]
        parent, _, used, other = devices
        assert (parent["mig"], used["mig"], other["mig"]) == (True, False, False)
        assert (used["parent"], used["index"], used["uuid"]) == (parent["uuid"], 0, instance(0, 3)["uuid"])
        assert (used["total_bytes"], used["health"]) == (9856 * MIB, None)
        reading = nvml("read", "0:3")
        assert reading["used_bytes"] == (2048 + 12) * MIB
        assert reading["absent"]["utilization_percent"] == "Not Supported"
        assert pids(nvml("processes", "0:3")) == {os.getpid(): 2 << 30}
        assert nvml("read", "0:0")["used_bytes"] == 12 * MIB
        assert nvml("read", "0:1")["lost"] == "no such device"


def test_instances_that_were_made_anew_have_their_own_uuid(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0, mig=1, mig_max=7, instances={0: instance(0, 0)}))
    with GpuChild(fake.env()) as nvml:
        assert len(nvml("devices")) == 2
        fake.write([gpu(0, mig=1, mig_max=7, instances={0: instance(0, 0, uuid="MIG-other")})])
        assert nvml("devices")[1]["uuid"] == "MIG-other"


def test_a_process_is_listed_once_with_the_most_that_any_list_says(tmp_path: Path) -> None:
    listed = {"proc.0": "11 C 10MiB", "proc.1": "11 G 30MiB", "proc.2": "11 C 20MiB", "proc.3": "12 M 5MiB"}
    listed |= {"proc.4": "13 G NA", "proc.5": "14 C NA", "proc.6": "14 C 1MiB"}
    with GpuChild(fakes(tmp_path, gpu(0, **listed)).env()) as nvml:
        nvml("devices")
        found = nvml("processes", "0")
        assert pids(found) == {11: 30 * MIB, 12: 5 * MIB, 13: None, 14: 1 * MIB}
        assert [one["type"] for one in found["processes"]] == ["compute", "compute", "mps", "graphics"]
        assert set(pids(nvml("processes", "0", ["compute", "mps"]))) == {11, 12, 14}


def test_lists_of_another_pid_namespace(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0), pid_mode="hidden")
    fake.claim(0, os.getpid(), "1GiB")
    with GpuChild(fake.env()) as nvml:
        nvml("devices")
        assert nvml("processes", "0") == {"is": "ProcessList", "processes": [], "reason": None}
        assert nvml("read", "0")["used_bytes"] == 1028 * MIB
        fake.write([gpu(0)], pid_offset=1000)
        assert pids(nvml("processes", "0")) == {os.getpid() + 1000: 1 << 30}
        fake.write([gpu(0, proc_mem_na=1)])
        assert pids(nvml("processes", "0")) == {os.getpid(): None}


def test_the_records_of_drivers_535_43_to_535_86_are_read(tmp_path: Path) -> None:
    listed = {"proc.0": "11 C 10MiB", "proc.1": "12 C 20MiB", "proc.2": "13 C NA"}
    with GpuChild(fakes(tmp_path, gpu(0, **listed), variant="r535_54").env()) as nvml:
        nvml("devices")
        assert pids(nvml("processes", "0")) == {11: 10 * MIB, 12: 20 * MIB, 13: None}


@pytest.mark.parametrize("pid", [0, 5_000_000])
def test_a_list_with_an_impossible_pid_is_not_trusted_at_all(tmp_path: Path, pid: int) -> None:
    fake = fakes(tmp_path, gpu(0, **{"proc.0": "11 C 10MiB"}, proc_garbage=pid))
    with GpuChild(fake.env()) as nvml:
        nvml("devices")
        assert nvml("processes", "0")["processes"] == []
        assert "garbled" in nvml("processes", "0")["reason"]


def test_a_list_in_a_layout_that_nothing_tells_of_is_not_trusted(tmp_path: Path) -> None:
    listed = {"proc.0": "11 C 10MiB", "proc.1": "12 C 20MiB"}
    with GpuChild(fakes(tmp_path, gpu(0, **listed), variant="r535_unknown").env()) as nvml:
        nvml("devices")
        assert "garbled" in nvml("processes", "0")["reason"]


def test_a_process_with_more_than_the_device_has_makes_the_list_untrusted(tmp_path: Path) -> None:
    listed = {"proc.0": "11 C 10MiB", "proc.1": "12 C 900GiB"}
    with GpuChild(fakes(tmp_path, gpu(0, mem__used="1GiB", **listed)).env()) as nvml:
        nvml("devices")
        assert "garbled" in nvml("processes", "0")["reason"]


def test_processes_that_come_while_they_are_listed(tmp_path: Path) -> None:
    fake = fakes(tmp_path, gpu(0, proc_race=60))
    with GpuChild(fake.env()) as nvml:
        nvml("devices")
        assert len(nvml("processes", "0")["processes"]) == 60
        fake.write([gpu(0, proc_flood=1)])
        assert nvml("processes", "0")["reason"] == "processes come faster than they can be listed"


def test_a_list_that_fails_now_is_no_empty_list(tmp_path: Path) -> None:
    lists = "nvmlDeviceGet{}RunningProcesses_v3"
    fake = fakes(tmp_path, gpu(0, **{f"ret.{lists.format('MPSCompute')}": 999, "proc.0": "11 C 10MiB"}))
    with GpuChild(fake.env()) as nvml:
        nvml("devices")
        assert nvml("processes", "0")["reason"] == "mps list: Unknown Error"
        fake.write([gpu(0, **{f"ret.{lists.format('MPSCompute')}": 3, "proc.0": "11 C 10MiB"})])
        assert pids(nvml("processes", "0")) == {11: 10 * MIB}
        fake.write([gpu(0, **{f"ret.{lists.format('Compute')}": 3})])
        assert nvml("processes", "0")["reason"] == "Not Supported"
