"""CUDA's start through stand-ins for libcuda: the table of a real 803, every code, no library, a hang, a crash."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.fake_cuda import NOTE, library, module_version, python_with_cache, torch
from support.preflight import job, left_behind

from grpotui_supervisor.preflight import cuda_init, cuda_search, interpreter, run
from grpotui_supervisor.preflight.cuda_codes import CODES, named

if TYPE_CHECKING:
    from pathlib import Path

    from grpotui_supervisor.preflight.check import Result


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_search, "ANSWER_S", 3.0)
    monkeypatch.setattr(cuda_init, "_AGAIN_S", 0.05)
    monkeypatch.setattr(cuda_init, "_READY_S", 0.5)


def check(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *places: str,
    module: str | None = None,
    cuda: str | None = "12.8",
    python: str = sys.executable,
    more: str = "",
    **env: str | None,
) -> Result:
    """`places`: of LD_LIBRARY_PATH."""
    interpreter._known.clear()  # another torch may stand there now
    path = str(tmp_path / "no-module") if module is None else module_version(tmp_path / "version", module)
    monkeypatch.setattr(cuda_search, "KERNEL_MODULE", path)
    search = ":".join(places) or None
    own = {"PYTHONPATH": torch(tmp_path / "site", cuda), "LD_LIBRARY_PATH": search, "CUDA_VISIBLE_DEVICES": None, **env}
    return cuda_init.CHECK.run(job(tmp_path, env=own, python=(python,), more=more))


def rows(result: Result) -> list[tuple[str, str | None, int | None]]:
    tries: list[dict[str, Any]] = result.data["tries"]
    return [(one["environment"], one["library"] and os.path.basename(one["library"]), one["code"]) for one in tries]


def test_the_803_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Default → 570.124.06 → 803; LD_LIBRARY_PATH unset → the same file → 803; the matching one first → 0."""
    compat = library(tmp_path / "compat", "570.124.06", "-DRC=803", "-DDRV=12080")
    driver = library(tmp_path / "driver", "525.125.06", "-DRC=0", "-DDRV=12000")
    python = python_with_cache(tmp_path / "python", compat)
    found = check(tmp_path, monkeypatch, compat, driver, module="525.125.06", python=python)
    assert found.outcome == "failed"
    assert rows(found) == [
        ("the job's environment", "libcuda.so.570.124.06", 803),
        ("LD_LIBRARY_PATH unset", "libcuda.so.570.124.06", 803),
        (f"{driver} first in LD_LIBRARY_PATH", "libcuda.so.525.125.06", 0),
    ]
    assert found.evidence == (
        f"cuInit returned 803 SYSTEM_DRIVER_MISMATCH from {compat}/libcuda.so.570.124.06, kernel module 525.125.06: "
        f"{CODES[803].cause}; the compatibility library 570.124.06 on the kernel module 525.125.06"
    )
    assert found.next is not None
    assert found.next.startswith(f"works with LD_LIBRARY_PATH={driver}:{compat}; set it under [launch.env]")
    assert found.details[2] == (f"{driver} first in LD_LIBRARY_PATH → {driver}/libcuda.so.525.125.06 → 0 SUCCESS")


@pytest.mark.parametrize("code", [code for code in CODES if code])
def test_every_code_has_a_cause_and_a_next_step(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path / "lib", "550.54.15", f"-DRC={code}")
    found = check(tmp_path, monkeypatch, place, module="550.54.15")
    assert found.outcome == "failed"
    assert f"cuInit returned {named(code)} from {place}/libcuda.so.550.54.15" in found.evidence
    assert CODES[code].cause in found.evidence
    assert found.next == CODES[code].next
    assert found.data["code"] == code


def test_the_codes_are_those_of_the_reference() -> None:
    assert {0, 3, 34, 35, 46, 100, 101, 304, 800, 801, 802, 803, 804, *range(805, 811), 999} <= CODES.keys()
    assert all(code.name and code.cause and (code.next or number == 0) for number, code in CODES.items())
    assert named(12345) == "12345"


def test_a_driver_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path / "lib", "550.54.15", "-DDRV=12040")
    found = check(tmp_path, monkeypatch, place, module="550.54.15", FAKE_CUDA_COUNT="7")
    assert (found.outcome, found.next) == ("passed", None)
    assert found.evidence == (
        f"cuInit returned 0 SUCCESS from {place}/libcuda.so.550.54.15, kernel module 550.54.15, 7 devices"
    )
    assert (found.data["cuda"], found.data["device_count"], len(found.data["tries"])) == (12040, 7, 1)


def test_a_torch_that_is_newer_than_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path / "lib", "550.54.15", "-DDRV=12040")
    found = check(tmp_path, monkeypatch, place, module="550.54.15", cuda="13.0")
    assert found.outcome == "failed"
    assert found.evidence.startswith("torch is built for CUDA 13.0, the driver serves up to 12.4")
    assert check(tmp_path, monkeypatch, place, module="550.54.15", cuda="12.9").outcome == "passed"  # same major


def test_no_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path / "lib", "550.54.15")
    found = check(tmp_path, monkeypatch, place, FAKE_CUDA_COUNT="0")
    assert (found.outcome, "no device" in found.evidence) == ("failed", True)


def test_a_driver_s_own_library_may_carry_the_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As driver 580.159.04 does on an H200: it is no compatibility library where it is the module's own version."""
    found = check(tmp_path, monkeypatch, library(tmp_path / "own", "580.159.04", NOTE), module="580.159.04")
    assert (found.outcome, "compatibility" in found.evidence) == ("passed", False)


def test_forward_compatibility(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer library is right where it carries NVIDIA's note and starts; without the note it is another version."""
    marked = library(tmp_path / "new", "575.57.08", NOTE)
    found = check(tmp_path, monkeypatch, marked, module="535.54.03")
    assert found.outcome == "passed"
    assert "(forward-compatibility library)" in found.evidence
    assert found.data["libraries"][0]["note"] == {
        "Format": 1, "CUDA Version": "12.9", "Driver": [535, 550], "Device": [1, 2],
    }  # fmt: skip
    plain = library(tmp_path / "other", "575.57.09")
    found = check(tmp_path, monkeypatch, plain, module="535.54.03")
    assert found.outcome == "warning"
    assert found.evidence.endswith("the kernel module is 535.54.03: another version")
    old = library(tmp_path / "old", "525.60.13", NOTE)
    found = check(tmp_path, monkeypatch, old, module="535.54.03")
    assert (found.outcome, "older than the module" in found.evidence) == ("warning", True)


def test_a_stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = library(tmp_path / "stubs", None, "-DRC=34")
    real = library(tmp_path / "real", "550.54.15")
    found = check(tmp_path, monkeypatch, stub, real, module="550.54.15")
    assert found.outcome == "failed"
    assert found.evidence.startswith(f"cuInit returned 34 STUB_LIBRARY from {stub}/libcuda.so.1")
    assert found.next is not None
    assert f"LD_LIBRARY_PATH={real}:{stub}" in found.next


def test_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = check(tmp_path, monkeypatch)
    assert found.outcome == "not_applicable"
    assert found.evidence == "no NVIDIA driver here: libcuda.so.1 is not found, and there is no /dev/nvidia*"
    found = check(tmp_path, monkeypatch, module="550.54.15")  # there is a driver, and its library is not found
    assert found.outcome == "failed"
    assert found.evidence.startswith("libcuda.so.1 cannot be loaded: libcuda.so.1: cannot open shared object file")
    found = check(tmp_path, monkeypatch, more="[gpus]\ndevices = [0]\n")  # the profile wants a GPU
    assert found.outcome == "failed"


@pytest.mark.parametrize(("how", "words"), [
    ("hang", r"did not return after 3 s \(at cuInit, pid \d+, state S, wchan \S+\).*: a hang in the driver"),
    ("crash", r"cuInit did not answer: the process was killed by SIGSEGV from .*: the process that asked died of it"),
])  # fmt: skip
def test_a_probe_that_does_not_come_back(how: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path / "lib", "550.54.15")
    monkeypatch.setattr(cuda_search, "_MOST", 1)
    found = check(tmp_path, monkeypatch, place, FAKE_CUINIT=how)
    assert found.outcome == "failed"
    assert re.search(words, found.evidence), found.evidence
    assert not left_behind()


def test_a_fabric_manager_that_is_starting_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path / "lib", "550.54.15")
    found = check(tmp_path, monkeypatch, place, FAKE_CUINIT_READY=str(tmp_path / "ready"))
    assert (tmp_path / "ready").exists()
    assert found.outcome == "passed"


def test_the_device_that_is_dead_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path / "lib", "550.54.15")
    env = {"CUDA_VISIBLE_DEVICES": "0,1,GPU-dead", "FAKE_CUINIT_BAD": "GPU-dead"}
    found = check(tmp_path, monkeypatch, place, module="550.54.15", **env)
    codes = {words: code for words, _, code in rows(found)}
    assert codes["the job's environment"] == codes["CUDA_VISIBLE_DEVICES=GPU-dead"] == 101
    assert codes["CUDA_VISIBLE_DEVICES=0"] == codes["CUDA_VISIBLE_DEVICES=1"] == 0


def test_not_applicable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path / "lib", "550.54.15")
    assert check(tmp_path, monkeypatch, place, CUDA_VISIBLE_DEVICES="").outcome == "not_applicable"
    assert check(tmp_path, monkeypatch, place, more="[gpus]\ndevices = []\n").outcome == "not_applicable"
    found = cuda_init.CHECK.run(job(tmp_path, env={"LD_LIBRARY_PATH": place}))  # an interpreter without torch
    assert found.outcome == "not_applicable"
    assert "computes on GPUs" in found.evidence


def test_an_interpreter_that_is_not_known_or_not_there(tmp_path: Path) -> None:
    (absent,) = run.run(job(tmp_path, python=("/no/such/python",)), [cuda_init.CHECK])
    words = "the training interpreter could not be started: /no/such/python: No such file or directory"
    assert (absent.result.outcome, absent.result.evidence) == ("unchecked", words)
    launch = 'mode = "command"\nargv = ["bash", "run.sh"]'
    (unknown,) = run.run(job(tmp_path, python=("python",), launch=launch), [cuda_init.CHECK])
    assert unknown.result.outcome == "unchecked"
    assert unknown.result.evidence.startswith("the profile does not say which interpreter trains")
