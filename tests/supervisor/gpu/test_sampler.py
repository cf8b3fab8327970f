"""The thread that reads the devices: when it asks, what it tells, and that nobody ever waits for it."""

from __future__ import annotations

import os
import select
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support.fake_gpus import MIB, FakeGpus, gpu
from support.gpu_child import GpuChild
from support.waiting import wait_until

from grpotui_supervisor.gpu.sampler import Sampler

if TYPE_CHECKING:
    from pathlib import Path

HANG = {"hang.nvmlDeviceGetMemoryInfo_v2": 1}
QUICK = 0.05


def sampler(fake: FakeGpus, *, interval_s: float = QUICK, **constants: Any) -> GpuChild:
    """A name such as `rounds__LOST_AGAIN_S` stands for the constant `rounds._LOST_AGAIN_S`."""
    named = {name.replace("__", "._", 1): value for name, value in constants.items()}
    return GpuChild(fake.env(), "Sampler", interval_s=interval_s, constants=named)


def moments(child: GpuChild, kind: str) -> list[float]:
    return [one["m"] / 1e9 for one in child.of(kind)]


def test_what_is_told_and_in_which_order(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0), gpu(1, mem__base="9MiB")])
    fake.claim(1, os.getpid(), "1GiB")
    with sampler(fake) as child:
        child.wait_for("Lists", after=1)
        kinds = [kind for kind, _ in child.events]
        assert kinds[:4] == ["Opened", "Found", "Readings", "Lists"]
        assert kinds.count("Found") == kinds.count("Opened") == 1
        assert child.of("Opened")[0] == {"is": "Opened", "driver": "580.95.05", "cuda": "13.0"}
        assert [one["key"] for one in child.of("Found")[0]["devices"]] == ["0", "1"]
        assert child.of("Readings")[0]["read"]["1"]["used_bytes"] == (9 + 1024) * MIB
        assert child.of("Lists")[0]["lists"]["1"]["processes"][0]["pid"] == os.getpid()
        assert child.of("Lists")[0]["lists"]["0"] == {"is": "ProcessList", "processes": [], "reason": None}


def test_lists_are_read_in_every_second_look(tmp_path: Path) -> None:
    with sampler(FakeGpus(tmp_path, gpus=[gpu(0)])) as child:
        child.wait_for("Lists", after=4)
        kinds = [kind for kind, _ in child.events if kind in ("Readings", "Lists")]
        assert kinds[:9] == ["Readings", "Lists", "Readings"] * 3


def test_looks_come_at_the_interval(tmp_path: Path) -> None:
    with sampler(FakeGpus(tmp_path, gpus=[gpu(0)]), interval_s=0.2) as child:
        child.wait_for("Readings", after=5)
        gaps = [after - before for before, after in pairwise(moments(child, "Readings"))]
        assert min(gaps) > 0.15
        assert sorted(gaps)[len(gaps) // 2] < 0.4


def test_in_a_hurry_both_come_at_four_a_second_and_then_less_often_again(tmp_path: Path) -> None:
    with sampler(FakeGpus(tmp_path, gpus=[gpu(0)]), interval_s=30.0) as child:
        child.wait_for("Lists")
        child("hurry", 1.6)
        child.wait_for("Lists", after=5)
        gaps = [after - before for before, after in pairwise(moments(child, "Lists")[1:])]
        assert min(gaps) > 0.2
        assert sorted(gaps)[len(gaps) // 2] < 0.5
        assert len(child.of("Readings")) == len(child.of("Lists"))
        looks = wait_until(lambda: child("silent_s") == 0.0 and _calm(child), seconds=10, what="an end of the hurry")
        assert looks < 12


def _calm(child: GpuChild) -> int | None:
    """The number of looks, once none has come for longer than a hurry lets pass."""
    before = len(child.of("Readings"))
    select.select([], [], [], 0.8)
    return before if len(child.of("Readings")) == before else None


def test_without_nvml_it_says_so_once_and_leaves_it_at_that() -> None:
    with GpuChild({"LD_LIBRARY_PATH": ""}, "Sampler", constants={"sampler._OPEN_AGAIN_S": 0.05}) as child:
        told = child.wait_for("Unavailable")
        assert "no NVIDIA driver library here" in told["reason"]
        wait_until(lambda: not child("alive"), what="the end of the thread")
        assert len(child.take()) == 1
        assert child("seconds_of", "close") < 0.5


def test_a_driver_that_is_loaded_later_is_found(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    fake.write([gpu(0)], ret__init=9)
    with sampler(fake, sampler__OPEN_AGAIN_S=0.05) as child:
        assert "modprobe" in child.wait_for("Unavailable")["hint"]
        select.select([], [], [], 0.3)  # several tries
        fake.write([gpu(0)])
        child.wait_for("Readings")
        assert [kind for kind, _ in child.events][:3] == ["Unavailable", "Opened", "Found"]


def test_no_device_and_then_one(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path)
    with sampler(fake, sampler__OPEN_AGAIN_S=0.05) as child:
        assert child.wait_for("Found")["devices"] == []
        fake.write([gpu(0)])
        assert len(child.wait_for("Found", after=1)["devices"]) == 1
        child.wait_for("Readings")
        assert len(child.of("Found")) == 2


def test_a_device_lost_in_mid_run_is_asked_seldom_and_found_again(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0), gpu(1)])
    with sampler(fake, rounds__LOST_AGAIN_S=0.6) as child:
        child.wait_for("Readings")
        fake.write([gpu(0, ret=15), gpu(1)])
        lost = child.wait_for("Readings", lambda one: one["read"]["0"]["lost"] is not None)
        assert lost["read"]["1"]["used_bytes"] == 4 * MIB
        listed = child.wait_for("Lists", lambda one: one["m"] > lost["m"])["lists"]
        assert listed["0"]["reason"] == "GPU is lost"
        assert listed["1"]["reason"] is None
        fake.write([gpu(0), gpu(1)])
        back = child.wait_for("Readings", lambda one: one["m"] > lost["m"] and one["read"]["0"]["lost"] is None)
        assert back["m"] - lost["m"] >= 0.6e9
        child.wait_for("Lists", lambda one: one["m"] > back["m"] and one["lists"]["0"]["reason"] is None)
        assert len(child.of("Found")) == 1


def test_a_device_that_was_lost_at_the_start_is_described_once_it_answers(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0, ret=15), gpu(1)])
    with sampler(fake, rounds__LOST_AGAIN_S=0.1) as child:
        first = child.wait_for("Found")["devices"]
        assert (first[0]["uuid"], first[1]["uuid"]) == (None, gpu(1)["uuid"])
        child.wait_for("Readings", lambda one: one["read"]["0"]["lost"] == "GPU is lost")
        fake.write([gpu(0), gpu(1)])
        second = child.wait_for("Found", after=1)["devices"]
        assert (second[0]["uuid"], second[0]["unavailable"]) == (gpu(0)["uuid"], None)
        child.wait_for("Lists", lambda one: one["lists"]["0"]["reason"] is None)


def test_devices_are_described_anew_on_request_if_anything_has_changed(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    with sampler(fake, interval_s=30.0) as child:
        child.wait_for("Lists")
        child("find_again")
        child.wait_for("Readings", after=1)
        assert len(child.of("Found")) == 1
        fake.write([gpu(0, remapped="0 1 1 0")])
        child("find_again")
        assert child.wait_for("Found", after=1)["devices"][0]["health"]["remap_pending"]


def test_a_call_that_hangs_delays_nobody_and_its_silence_grows(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    with sampler(fake) as child:
        child.wait_for("Readings")
        assert child("silent_s") == 0.0
        fake.write([gpu(0)], **HANG)
        first = wait_until(lambda: child("silent_s"), what="silence")
        assert first > 1.0
        wait_until(lambda: child("silent_s") > first + 0.5, what="a longer silence")
        assert child("seconds_of", "take") < 0.1
        assert child("seconds_of", "hurry", 1) < 0.1
        fake.write([gpu(0)])
        wait_until(lambda: child("silent_s") == 0.0, what="an answer")
        child.wait_for("Readings", after=len(child.of("Readings")))


def test_between_two_looks_nobody_is_silent(tmp_path: Path) -> None:
    with sampler(FakeGpus(tmp_path, gpus=[gpu(0)]), interval_s=30.0, sampler__ANSWERS_S=0.05) as child:
        child.wait_for("Lists")
        select.select([], [], [], 0.2)
        assert child("silent_s") == 0.0


def test_closing_while_a_call_hangs_takes_two_seconds_and_leaves_the_library_open(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    with sampler(fake) as child:
        child.wait_for("Readings")
        fake.write([gpu(0)], **HANG)
        wait_until(lambda: child("silent_s"), what="silence")
        assert child("seconds_of", "close") < 2.5
        fake.write([gpu(0)], ret__nvmlShutdown=999)
        wait_until(lambda: not child("alive"), what="the end of the thread that was left behind")
        assert child.end() == (0, "")


def test_a_hang_in_opening_is_silence_too(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    fake.write([gpu(0)], hang__nvmlInitWithFlags=1)
    with sampler(fake) as child:
        wait_until(lambda: child("silent_s"), what="silence")
        assert child.take() == []
        fake.write([gpu(0)])
        child.wait_for("Readings")


def test_a_slow_driver_is_asked_less_often_and_a_quick_one_more_often_again(tmp_path: Path) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(0)])
    slow = {"delay_us.nvmlDeviceGetUtilizationRates": 20_000}  # of 100 ms, and of 200 ms; of 400 ms it is 5 %
    with sampler(fake, interval_s=0.1) as child:
        child.wait_for("Readings", after=4)
        assert child.of("Slow") == []
        fake.write([gpu(0)], **slow)
        told = child.wait_for("Slow", lambda one: one["interval_s"] >= 0.4)
        assert child.of("Slow")[0]["interval_s"] == 0.2
        assert 18 < told["tick_ms"] < 200
        fake.write([gpu(0)])
        child.wait_for("Slow", lambda one: one["interval_s"] == 0.1)


def test_the_descriptor_is_readable_exactly_when_something_can_be_taken(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grpotui_supervisor.gpu.binding._LIBRARIES", (str(tmp_path / "none.so"),))
        found = Sampler()
        assert found.take() == []
        found.start()
        assert select.select([found.fd], [], [], 10)[0]
        (told,) = found.take()
        assert "none.so" in str(told)
        assert not select.select([found.fd], [], [], 0)[0]
        found.close()


def test_a_sampler_that_was_never_started_can_be_closed() -> None:
    found = Sampler()
    assert found.silent_s() == 0.0
    found.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(found.fd)


def test_events_that_nobody_takes_are_bounded(tmp_path: Path) -> None:
    with sampler(FakeGpus(tmp_path, gpus=[gpu(0)]), interval_s=0.005, sampler__UNTAKEN=4) as child:
        select.select([], [], [], 0.3)
        assert len(child("take")) <= 4


@pytest.mark.parametrize("ending", ["exit", "close"])
def test_the_interpreter_ends_clean_while_calls_are_under_way(tmp_path: Path, ending: str) -> None:
    fake = FakeGpus(tmp_path, gpus=[gpu(i) for i in range(8)])
    fake.write(fake.gpus, delay_us=200)
    for _ in range(5):
        with sampler(fake, interval_s=0.001) as child:
            child.wait_for("Readings", after=2)
            if ending == "close":
                assert child("seconds_of", "close") < 2.5
            assert child.end() == (0, "")


def test_what_must_not_happen_in_the_thread_is_told(tmp_path: Path) -> None:
    with sampler(FakeGpus(tmp_path, gpus=[gpu(0)]), sampler__LISTS_EVERY=0) as child:
        told = child.wait_for("Unavailable")
        assert "GPUs are read no more: ZeroDivisionError" in told["reason"]
