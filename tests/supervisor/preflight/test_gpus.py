"""GPUs and their links, through the real binding on a pretended driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.fake_gpus import gpu, instance
from support.gpu_machine import GpuMachine
from support.preflight_jobs import RANKS, VERL, result_in_child

from grpotui_supervisor.gpu import kernel_log
from grpotui_supervisor.gpu.idle import Seen
from grpotui_supervisor.model.gpu import Device, ProcessList, Reading
from grpotui_supervisor.preflight import gpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grpotui_supervisor.preflight.check import Result

FOUR = (
    *VERL, "trainer.n_gpus_per_node=4", "actor_rollout_ref.model.path=Qwen/Qwen3-1.7B",
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=4096", "actor_rollout_ref.actor.use_dynamic_bsz=True",
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.6",
)  # fmt: skip


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[GpuMachine]:
    found = GpuMachine(tmp_path / "gpus", count=4)
    yield found
    found.clean()


def gpus_of(machine: GpuMachine, tmp_path: Path, *words: str, env: dict[str, str] | None = None, **more: Any) -> Result:
    return result_in_child("gpus", tmp_path / "job", *words, env={**machine.env, **(env or {})}, **more)


def links_of(machine: GpuMachine, tmp_path: Path, *words: str, **more: Any) -> Result:
    return result_in_child("topology", tmp_path / "job", *words, env=machine.env, **more)


def told(result: Result) -> str:
    return "\n".join([result.evidence, *result.details])


def test_as_many_idle_gpus_as_ranks(machine: GpuMachine, tmp_path: Path) -> None:
    found = gpus_of(machine, tmp_path, *FOUR)
    assert found.outcome == "passed", found
    assert "4 GPUs (NVIDIA H100 80GB HBM3); all idle" in found.evidence
    assert len(found.data["gpus"]) == 4


def test_too_few(machine: GpuMachine, tmp_path: Path) -> None:
    found = gpus_of(machine, tmp_path, *FOUR, env={"CUDA_VISIBLE_DEVICES": "0,2"})
    assert (found.outcome, "2 GPUs" in found.evidence, "for 4 ranks" in found.evidence) == ("failed", True, True)
    assert gpus_of(machine, tmp_path, *FOUR, env={"CUDA_VISIBLE_DEVICES": "0,2,3"}).outcome == "failed"
    trl = gpus_of(machine, tmp_path, "t.py", "--use_vllm", mode=RANKS % 7)
    assert (trl.outcome, "for 7 ranks" in trl.evidence) == ("failed", True)


def test_gpus_without_a_rank_are_only_told(machine: GpuMachine, tmp_path: Path) -> None:
    found = gpus_of(machine, tmp_path, "t.py", "--use_vllm", mode=RANKS % 2)
    assert (found.outcome, "2 of them without a rank" in found.evidence) == ("passed", True)


def test_a_script_that_says_nothing_is_not_asked_how_many_it_needs(machine: GpuMachine, tmp_path: Path) -> None:
    assert gpus_of(machine, tmp_path, "t.py", mode=RANKS % 7).outcome == "passed"
    off = gpus_of(machine, tmp_path, "t.py", env={"CUDA_VISIBLE_DEVICES": ""})
    assert off.outcome == "not_applicable"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("0,1,9", 2), ("0,0", 0), ("GPU-00000000-0000-0000-0000-000000000000,GPU-f", 1)],
)
def test_words_that_hide_devices(machine: GpuMachine, tmp_path: Path, value: str, shown: int) -> None:
    found = gpus_of(machine, tmp_path, "t.py", env={"CUDA_VISIBLE_DEVICES": value})
    assert found.outcome == "warning"
    assert f"CUDA_VISIBLE_DEVICES={value} names {value.count(',') + 1}, and CUDA shows {shown}" in told(found)


def test_mig_instances(machine: GpuMachine, tmp_path: Path) -> None:
    machine.fake.write([gpu(0, mig=1, mig_max=7, instances={0: instance(0, 0), 1: instance(0, 1)})])
    both = ",".join(str(instance(0, place)["uuid"]) for place in (0, 1))
    found = gpus_of(machine, tmp_path, *FOUR, env={"CUDA_VISIBLE_DEVICES": both})
    assert found.outcome == "failed"
    assert "CUDA shows one to a process" in told(found)


def test_who_is_there(machine: GpuMachine, tmp_path: Path) -> None:
    pid = machine.hold(1, "2GiB")
    found = gpus_of(machine, tmp_path, *FOUR)
    assert found.outcome == "warning"
    assert found.evidence.startswith("GPU 1 is not idle: python")
    assert f"(pid {pid}" in found.evidence
    refused = gpus_of(machine, tmp_path, *FOUR, more="[gpus]\nbusy = 'refuse'\n")
    assert refused.outcome == "failed"
    waited = gpus_of(machine, tmp_path, *FOUR, more="[gpus]\nwait = '30m'\n")
    assert (waited.outcome, "up to 30m" in str(waited.next)) == ("warning", True)


def test_a_share_that_is_not_free(machine: GpuMachine, tmp_path: Path) -> None:
    """vLLM refuses to start where its share of the whole card is not free."""
    machine.hold(2, "40GiB")
    found = gpus_of(machine, tmp_path, *FOUR)
    assert found.outcome == "failed"
    assert "GPU 2 has 39.0 GiB of 79.6 GiB free, and" in found.evidence


def test_a_gpu_that_is_lost(machine: GpuMachine, tmp_path: Path) -> None:
    machine.fake.write([gpu(0), gpu(1), gpu(2, ret=15), gpu(3)])
    found = gpus_of(machine, tmp_path, "t.py")
    assert found.outcome == "failed"
    assert "GPU 2 does not answer" in found.evidence


def test_signs_of_failing_memory(machine: GpuMachine, tmp_path: Path) -> None:
    machine.fake.write([
        gpu(0, remapped="1 0 1 0"), gpu(1, remapped="0 9 0 1"), gpu(2, ecc__unc__agg=3), gpu(3),
    ])  # fmt: skip
    found = gpus_of(machine, tmp_path, "t.py")
    assert found.outcome == "warning"
    words = told(found)
    assert "GPU 0: a faulty row of its memory waits for a reset" in words
    assert "GPU 1: a row of its memory could not be replaced" in words
    assert "GPU 2: 3 uncorrected ECC errors" in words


def test_a_gpu_that_the_profile_names_and_is_not_there(machine: GpuMachine, tmp_path: Path) -> None:
    found = gpus_of(machine, tmp_path, "t.py", more="[gpus]\ndevices = [0, 9]\n")
    assert found.outcome == "failed"
    assert "the GPU 9 of the profile" in found.evidence


def test_no_driver_here(tmp_path: Path) -> None:
    nowhere = {"LD_LIBRARY_PATH": "", "FAKE_NVML_STATE": ""}
    found = result_in_child("gpus", tmp_path, *FOUR, env=nowhere)
    if found.outcome != "unchecked":
        pytest.skip("this machine has GPUs")
    assert "no NVIDIA driver library here" in found.evidence
    assert result_in_child("gpus", tmp_path, "t.py", env=nowhere).outcome == "not_applicable"
    assert result_in_child("topology", tmp_path, *FOUR, env=nowhere).outcome == "unchecked"
    assert result_in_child("topology", tmp_path, "t.py", env=nowhere).outcome == "not_applicable"


KERNEL_LOG = (
    b"6,1,2,-;usb 1-1: new device\n"
    b"3,2,9,-;NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.\n"
    b"3,3,9,-;NVRM: Xid (PCI:0000:19:00): 31, pid=99, name=python, Ch 8, MMU Fault\n"
    b"3,4,9,-;NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.\n"
    b"3,5,9,-;NVRM: Xid (PCI:0000:18:00.0): 64, row\n"
)


@pytest.mark.parametrize(
    ("address", "bus"),
    [
        ("00000000:18:00.0", "0000:18:00"),
        ("0001:3B:00", "0001:3b:00"),
        ("00000001:3B:00.0", "0001:3b:00"),
        ("3b:00.0", "0000:3b:00"),
    ],
)
def test_one_address_of_a_device(address: str, bus: str) -> None:
    assert kernel_log.bus(address) == bus


def test_faults_in_the_kernels_log(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.write_bytes(KERNEL_LOG)
    found = kernel_log.xids(str(log))
    assert found == {"0000:18:00": (79, 64), "0000:19:00": (31,)}
    own = [seen(index) for index in range(3)]
    words = [one.evidence for one in gpus.healthy(own, found)]
    assert words == ["GPU 0 since boot: Xid 79 (fallen off the bus), Xid 64 (row remapping or page retirement failed)"]
    missing = kernel_log.xids(str(tmp_path / "none"))
    assert missing == f"{tmp_path / 'none'}: No such file or directory"
    (only,) = gpus.healthy(own, missing)
    assert (only.outcome, "not told" in only.evidence) == ("passed", True)


def seen(index: int) -> Seen:
    device = Device(key=str(index), index=index, uuid=f"GPU-{index}", bus_id=f"00000000:{0x18 + index:02X}:00.0")
    return Seen(device=device, reading=Reading(), listed=ProcessList())


def linked(kind: str) -> list[dict[str, Any]]:
    """Four GPUs: all on NVLink, in two pairs on NVLink, or on PCIe without peer access as GeForce cards are."""
    found = [gpu(index) for index in range(4)]
    for one in range(4):
        for other in range(one + 1, 4):
            fast = kind == "all" or (kind == "pairs" and one // 2 == other // 2)
            found[one][f"nvlink.{other}"] = 0 if fast else 5
            found[one][f"topo.{other}"] = 20 if one // 2 == other // 2 else 50
            if kind == "pcie":
                found[one][f"p2p.{other}"] = 1
    if kind != "pcie":
        for device in found:
            device["nvlinks"] = 18
    return found


def parallel(size: int) -> tuple[str, ...]:
    return (*FOUR, f"actor_rollout_ref.rollout.tensor_model_parallel_size={size}")


def test_all_on_nvlink(machine: GpuMachine, tmp_path: Path) -> None:
    machine.fake.write(linked("all"))
    found = links_of(machine, tmp_path, *parallel(4))
    assert (found.outcome, found.evidence) == (
        "passed",
        "every GPU reaches every other one over NVLink (18 links each)",
    )
    assert len(found.details) == 6
    assert found.details[0] == "GPU 0 and GPU 1: NVLink, peer access"


def test_tensor_parallelism_over_pcie(machine: GpuMachine, tmp_path: Path) -> None:
    machine.fake.write(linked("pcie"))
    found = links_of(machine, tmp_path, *parallel(2))
    assert found.outcome == "warning"
    assert "6 of 6 pairs reach each other over PCIe only, and tensor parallelism 2" in found.evidence
    assert "tensor_model_parallel_size=1" in str(found.next)
    assert "PCIe, several PCIe switches, no peer access: the chipset does not support it" in told(found)
    assert "NCCL_P2P_DISABLE=1" in told(found)
    single = links_of(machine, tmp_path, *parallel(1))
    assert (single.outcome, "replicas generate by themselves" in single.evidence) == ("passed", True)
    trl = links_of(machine, tmp_path, "t.py", "--use_vllm", "--vllm_tensor_parallel_size", "2", mode=RANKS % 4)
    assert "vllm_tensor_parallel_size=1" in str(trl.next)


def test_tensor_parallelism_within_pairs(machine: GpuMachine, tmp_path: Path) -> None:
    machine.fake.write(linked("pairs"))
    assert links_of(machine, tmp_path, *parallel(2)).outcome == "passed"
    assert links_of(machine, tmp_path, *parallel(4)).outcome == "warning"


def test_one_gpu_has_no_links(machine: GpuMachine, tmp_path: Path) -> None:
    found = links_of(machine, tmp_path, *FOUR, more="[gpus]\ndevices = [1]\n")
    assert found.outcome == "not_applicable"


def test_a_driver_that_does_not_tell(machine: GpuMachine, tmp_path: Path) -> None:
    machine.fake.write(linked("all"), ret__nvmlDeviceGetP2PStatus=3, ret__nvmlDeviceGetTopologyCommonAncestor=3)
    found = links_of(machine, tmp_path, *parallel(2))
    assert found.outcome == "unchecked"
    assert "peer access not told" in told(found)
