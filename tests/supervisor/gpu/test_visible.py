"""Which devices belong to a run: the profile's words, and CUDA's rules for CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

import pytest

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.gpu.visible import chosen, is_ambiguous, seen_by_cuda
from grpotui_supervisor.model.gpu import Device

FOUR = [Device(key=str(i), index=i, uuid=f"GPU-{i}abc-{i}", name="H100") for i in range(4)]
SPLIT = [
    Device(key="0", index=0, uuid="GPU-0", name="A100", mig=True),
    Device(key="0:0", index=0, uuid="MIG-a1", name="A100 MIG", parent="GPU-0"),
    Device(key="0:1", index=0, uuid="MIG-a2", name="A100 MIG", parent="GPU-0"),
    Device(key="1", index=1, uuid="GPU-1", name="A100"),
]


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        (None, "0123"),
        ("", ""),
        ("2", "2"),
        ("3,1", "31"),
        (" 1 , +2", "12"),
        ("1,9,2", "1"),  # what comes behind a number that names no device is not read
        ("1,-1,2", "1"),
        ("-1", ""),
        ("NoDevFiles", ""),
        ("1,2,1", ""),  # twice: none at all
        ("GPU-2", "2"),
        ("GPU-2abc-2,GPU-0", "20"),
        ("GPU-", ""),  # several fit
        ("gpu-2", ""),
        ("GPU-2,1", "2"),  # numbers and UUIDs do not mix
        ("1,GPU-2", "1"),
        ("0,,1", "0"),
    ],
)
def test_the_rules_of_cuda(value: str | None, keys: str) -> None:
    assert "".join(device.key for device in seen_by_cuda(value, FOUR)) == keys


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        (None, ["0:0", "0:1", "1"]),
        ("0", ["0:0", "0:1"]),
        ("MIG-a2", ["0:1"]),
        ("MIG-a2,MIG-a1", ["0:1"]),  # CUDA shows one instance only
        ("MIG-a", []),
        ("GPU-0", ["0:0", "0:1"]),
        ("1", ["1"]),
    ],
)
def test_a_device_that_is_split_is_its_instances(value: str | None, keys: list[str]) -> None:
    assert [device.key for device in seen_by_cuda(value, SPLIT)] == keys


def test_the_profile_comes_before_the_environment() -> None:
    assert chosen((2, "GPU-0"), ["3"], FOUR) == {"2", "0"}
    assert chosen((), ["3"], FOUR) == frozenset()
    assert chosen(None, ["3", "1", ""], FOUR) == {"3", "1"}  # a process each, with a variable of its own
    assert chosen(None, [None], FOUR) == {"0", "1", "2", "3"}
    assert chosen((0,), [], SPLIT) == {"0:0", "0:1"}
    assert chosen(("0:1", "MIG-a1"), [], SPLIT) == {"0:0", "0:1"}


@pytest.mark.parametrize("word", [7, "GPU-9", "GPU-", "", "H100"])
def test_a_device_that_is_not_there_is_a_mistake_that_lists_what_is(word: int | str) -> None:
    with pytest.raises(UsageError, match="devices") as raised:
        chosen((0, word), [], FOUR)
    assert repr(word) in str(raised.value)
    assert ("several" in str(raised.value)) == (word == "GPU-")
    assert raised.value.hint is not None
    assert "3 (GPU-3abc-3)" in raised.value.hint


def test_on_a_machine_without_devices() -> None:
    with pytest.raises(UsageError) as raised:
        chosen((0,), [], [])
    assert raised.value.hint == "there is none"
    assert chosen(None, [None, "0"], []) == frozenset()


def test_numbers_of_unlike_devices_mean_what_the_order_says() -> None:
    unlike = [FOUR[0], Device(key="1", index=1, uuid="GPU-1", name="L4")]
    assert is_ambiguous("0", "FASTEST_FIRST", unlike)
    assert is_ambiguous("0", None, unlike)
    assert not is_ambiguous("0", "PCI_BUS_ID", unlike)
    assert not is_ambiguous("GPU-1", None, unlike)
    assert not is_ambiguous(None, None, unlike)
    assert not is_ambiguous("0", None, FOUR)
