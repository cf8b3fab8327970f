"""Whether a device is idle: what is known, what is not, and who is named."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from grpotui_supervisor.gpu.idle import Seen, judge, spare_bytes
from grpotui_supervisor.gpu.naming import Who
from grpotui_supervisor.model.gpu import Device, GpuProcess, ProcessList, Reading

MIB, GIB = 1 << 20, 1 << 30
ALICE = Who(pid=4711, start=1, name="python", user="alice")
MPS = Who(pid=50, start=1, name="nvidia-cuda-mps-server", user="root")
DESKTOP = Who(pid=60, start=1, name="Xorg", user="root")
COMPUTE = GpuProcess(pid=4711, type="compute", used_bytes=int(70.1 * GIB))
UNREADABLE = ProcessList(reason="Not Supported")


def seen(used: int | None, *processes: GpuProcess, listed: ProcessList | None = None, **device: Any) -> Seen:
    fields = {"key": "1", "index": 1, "uuid": "GPU-1", "kind": "v2", "total_bytes": 80 * GIB, **device}
    return Seen(
        device=Device(**fields),
        reading=Reading(used_bytes=used, absent={} if used is not None else {"used_bytes": "Unknown Error"}),
        listed=listed or ProcessList(processes=processes),
        who=MappingProxyType({who.pid: who for who in (ALICE, MPS, DESKTOP)}),
    )


def process(pid: int, used: int | None, kind: Any = "compute") -> GpuProcess:
    return GpuProcess(pid=pid, type=kind, used_bytes=used)


@pytest.mark.parametrize(
    ("found", "idle", "words"),
    [
        (seen(0), True, "GPU 1 is idle: 0 KiB used, no compute process"),
        (seen(512 * MIB), True, "512 MiB used"),
        (seen(512 * MIB + 1), False, "512 MiB are used by nobody visible here: another container?"),
        (seen(int(12.3 * GIB)), False, "GPU 1 is not idle: 12.3 GiB are used by nobody visible here: another contai"),
        (seen(615 * MIB, kind="v1"), True, "615 MiB used"),
        (seen(1536 * MIB, kind="v1"), True, "1.5 GiB used"),
        (seen(1536 * MIB + 1, kind="v1"), False, "nobody visible here"),
        (seen(0, COMPUTE), False, "GPU 1 is not idle: python (pid 4711, alice) holds 70.1 GiB"),
        (seen(None, process(4711, None)), False, "python (pid 4711, alice) is on it"),
        (seen(GIB, process(9, GIB)), False, "pid 9 (not visible here) holds 1.0 GiB"),
        (seen(GIB, process(60, GIB, "graphics")), True, "1.0 GiB used, no compute process"),
        (seen(GIB, process(60, None, "graphics")), None, "not told what of them is the display's"),
        (seen(GIB, process(50, 900 * MIB)), True, "no compute process"),  # an MPS server stays for ever
        (seen(2 * GIB, process(50, 900 * MIB), process(9, GIB, "mps")), False, "pid 9 (not visible here) holds"),
        (seen(3 * MIB, listed=UNREADABLE), None, "not known: its process list cannot be read: Not Supported"),
        (seen(3 * GIB, listed=UNREADABLE), False, "3.0 GiB are used, and who holds them is not told: Not Supported"),
        (seen(None), None, "whether GPU 1 is idle is not known: its memory is not read: Unknown Error"),
        (seen(None, kind=None, unavailable="memory: Unknown Error"), None, "GPU 1 cannot be read: memory: Unknown"),
        (seen(0, kind="lists", total_bytes=None), True, "no process is listed"),
        (seen(None, kind="lists", listed=UNREADABLE), None, "its process list cannot be read"),
        (seen(GIB, COMPUTE, kind="lists"), False, "python (pid 4711, alice) holds"),
        (seen(40 * GIB, numa=True), True, "its memory is the host's, and says nothing"),
    ],
)
def test_idle(found: Seen, idle: bool | None, words: str) -> None:
    judgement = judge(found)
    assert (judgement.idle, words in judgement.evidence) == (idle, True), judgement.evidence


def test_a_lost_device_is_not_idle() -> None:
    gone = Seen(
        device=Device(key="1", index=1, uuid="GPU-1", kind="v2"),
        reading=Reading(lost="GPU is lost"),
        listed=ProcessList(reason="GPU is lost"),
    )
    assert judge(gone).idle is None
    assert judge(gone).evidence == "GPU 1 cannot be read: GPU is lost"


def test_of_many_holders_the_largest_are_named() -> None:
    holders = [process(pid, pid * GIB) for pid in (1, 5, 3, 2, 4)]
    evidence = judge(seen(15 * GIB, *holders)).evidence
    assert evidence.endswith(
        "pid 5 (not visible here) holds 5.0 GiB, pid 4 (not visible here) holds 4.0 GiB, "
        "pid 3 (not visible here) holds 3.0 GiB, and 2 more"
    )


def test_bytes_that_nobody_accounts_for_are_told_only_when_all_is_known() -> None:
    assert seen(3 * GIB, process(9, GIB)).unattributed_bytes == 2 * GIB
    assert seen(3 * GIB, process(9, None)).unattributed_bytes is None
    assert seen(3 * GIB, listed=UNREADABLE).unattributed_bytes is None
    assert seen(None).unattributed_bytes is None


def test_bytes_say_nothing_of_memory_that_is_the_host_s() -> None:
    assert spare_bytes(seen(0).device) == 512 * MIB
    assert spare_bytes(seen(0, numa=True).device) is None
    assert spare_bytes(seen(0, kind="lists").device) is None
