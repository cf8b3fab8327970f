"""Faults that the driver reports: told with the device that they are of, by names that people know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.fake_gpus import FakeGpus, gpu, instance
from support.gpu_child import GpuChild
from support.waiting import wait_until

from grpotui_supervisor.model.xids import XIDS, xid_kind

if TYPE_CHECKING:
    from pathlib import Path


def sampler(fake: FakeGpus, **constants: float) -> GpuChild:
    named = {name.replace("__", "._", 1): value for name, value in constants.items()}
    return GpuChild(fake.env(), "Sampler", interval_s=0.05, constants={"xid._WAIT_MS": 100, **named})


def waiting(child: GpuChild) -> None:
    """Until faults are waited for: what came before, the driver does not tell."""
    child.wait_for("Lists", after=1)
    wait_until(lambda: "gpu-xid" in child("threads"), what="the thread that waits for faults")
    child.wait_for("Lists", after=len(child.of("Lists")) + 2)


def test_a_fault_is_told_with_its_device(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0), gpu(1), gpu(2, events=None)])
    with sampler(fake) as child:
        waiting(child)
        assert child.of("Xid") == []
        fake.write([gpu(0), gpu(1, xid="1 31"), gpu(2, events=None)])
        told = child.wait_for("Xid")
        assert (told["key"], told["number"]) == ("1", 31)
        fake.write([gpu(0, xid="1 79"), gpu(1, xid="1 31"), gpu(2, events=None)])
        told = child.wait_for("Xid", after=1)
        assert (told["key"], told["number"]) == ("0", 79)
        assert told["m"] > child.of("Xid")[0]["m"]


def test_devices_without_such_events_are_read_all_the_same(tmp_path: Path) -> None:
    with sampler(FakeGpus(tmp_path, gpus=[gpu(0, events=None)])) as child:
        child.wait_for("Lists", after=3)
        assert child("seconds_of", "close") < 2.0


def test_where_no_events_can_be_waited_for(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    fake.write(fake.gpus, ret__nvmlEventSetCreate=3)
    with sampler(fake) as child:
        child.wait_for("Lists", after=3)
        assert "gpu-xid" not in child("threads")


def test_a_wait_that_fails_is_set_up_anew(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    with sampler(fake, xid__AGAIN_S=0.1) as child:
        waiting(child)
        fake.write([gpu(0)], ret__nvmlEventSetWait_v2=15)
        child.wait_for("Lists", after=len(child.of("Lists")) + 2)
        fake.write([gpu(0)])
        for number in range(1, 40):  # what comes before it waits again is not told
            fake.write([gpu(0, xid=f"{number} 48")])
            child.wait_for("Lists", after=len(child.of("Lists")))
            if child.of("Xid"):
                break
        assert child.of("Xid")[0]["number"] == 48


def test_a_wait_that_fails_at_once_is_not_made_over_and_over(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    with sampler(fake) as child:
        waiting(child)
        fake.write([gpu(0)], ret__nvmlEventSetWait_v2=15)
        child.wait_for("Lists", after=len(child.of("Lists")) + 2)
        before = child("cpu_s")
        child.wait_for("Lists", after=len(child.of("Lists")) + 10)  # a second of looks, which cost some ms
        assert child("cpu_s") - before < 0.4


def test_a_device_that_answers_later_is_waited_for_too(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0, ret=15), gpu(1)])
    with sampler(fake, rounds__LOST_AGAIN_S=0.1) as child:
        waiting(child)
        fake.write([gpu(0), gpu(1)])
        child.wait_for("Found", after=1)
        waiting(child)
        fake.write([gpu(0, xid="1 95"), gpu(1)])
        assert child.wait_for("Xid")["key"] == "0"


def test_a_fault_of_a_device_that_is_split_is_told_of_the_device(tmp_path: Path) -> None:
    split = {"mig": 1, "mig_max": 7, "instances": {0: instance(0, 0)}}
    fake = FakeGpus(tmp_path, gpus=[gpu(0, **split)])
    with sampler(fake) as child:
        waiting(child)
        fake.write([gpu(0, xid="1 94", **split)])
        assert child.wait_for("Xid")["key"] == "0"


@pytest.mark.parametrize(("number", "severity"), [(13, "job"), (31, "job"), (43, "job"), (45, "note"), (79, "gpu")])
def test_whose_matter_a_fault_is(number: int, severity: str) -> None:
    assert xid_kind(number).severity == severity
    assert xid_kind(number).name


def test_a_number_without_a_name_is_the_devices_matter() -> None:
    assert 999 not in XIDS
    assert xid_kind(999) == (None, "gpu")
