"""The checks that need a GPU, with stand-ins for torch and vLLM: what they make of every answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.fake_cuda import packages, torch
from support.preflight import job, left_behind

from grpotui_supervisor.preflight import generation, matmul

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from grpotui_supervisor.preflight.check import Result

TORCH = """
import os, time
__version__ = "2.8.0"
float32, bfloat16 = "float32", "bfloat16"
KINDS = os.environ["FAKE_DEVICES"].split(",")

class Properties:
    name, uuid = "NVIDIA H200", "f00"

class cuda:
    is_available = staticmethod(lambda: KINDS != [""])
    device_count = staticmethod(lambda: len(KINDS))
    get_device_properties = staticmethod(lambda index: Properties)

class Tensor:
    def __init__(self, wrong=0): self.wrong = wrong
    def reshape(self, *size): return self
    def __mod__(self, other): return self
    def double(self): return self
    def cpu(self): return self
    def abs(self): return self
    def sum(self): return self.wrong
    def __sub__(self, other): return self
    def __gt__(self, other): return self
    def __rmul__(self, other): return self
    def __matmul__(self, other): return Tensor(self.wrong)
    def to(self, device, dtype):
        kind = KINDS[int(device[5:])]
        if kind == "raises": raise RuntimeError("CUDA error: no kernel image is available for execution\\nadvice")
        if kind == "hangs": time.sleep(1000)
        if kind == "crashes": os.kill(os.getpid(), 11)
        return Tensor(17 if kind == "wrong" and dtype == "bfloat16" else 0)

arange = lambda count: Tensor()
"""
VLLM = """
import os, subprocess
__version__ = "0.11.0"
class SamplingParams:
    def __init__(self, **options): assert options["max_tokens"] == 8
class LLM:
    def __init__(self, model, **options):
        open(os.environ["TOLD"], "w").write(model + " " + repr(sorted(options.items())))
        assert os.environ["HF_HUB_OFFLINE"] == "1"
        self.engine = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        if os.environ.get("FAULT") == "raises": raise ValueError("No available memory for the cache blocks")
        if os.environ.get("FAULT") == "offline": raise OSError("offline mode is on: no such model")
    def generate(self, prompts, parameters):
        class Output: token_ids, text = [1, 2, 3], " 2"
        class Request: outputs = [Output]
        return [Request]
if os.environ.get("FAULT") == "aborts":
    import atexit
    atexit.register(os.abort)
"""


def products(folder: Path, devices: str) -> Result:
    """`devices`: how each behaves."""
    site = folder / "site"
    torch(site)
    (site / "torch/__init__.py").write_text(TORCH)
    return matmul.CHECK.run(job(folder, env={"PYTHONPATH": str(site), "FAKE_DEVICES": devices}))


def test_right_on_every_device(tmp_path: Path) -> None:
    found = products(tmp_path, "right,right")
    assert found.outcome == "passed"
    assert found.evidence.startswith("2 devices: the product of two 256 × 256 matrices is right on each")
    assert found.details[1].startswith("device 1: NVIDIA H200: right, ")


def test_a_wrong_product_and_an_error(tmp_path: Path) -> None:
    found = products(tmp_path, "right,wrong,raises")
    assert found.outcome == "failed"
    assert found.evidence == (
        "device 1: 17 of 65536 values are wrong in bfloat16; "
        "device 2: RuntimeError: CUDA error: no kernel image is available for execution"
    )
    assert found.next is not None
    assert "built without code for this GPU" in found.next


def test_a_device_that_hangs_or_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "LIMIT_S", 1.5)
    found = products(tmp_path, "right,hangs")
    assert found.outcome == "failed"
    assert found.evidence.startswith("at device 1 the process did not return after 2 s")
    assert len(found.details) == 1
    monkeypatch.setattr(matmul, "LIMIT_S", 20)
    found = products(tmp_path, "crashes")
    assert found.evidence.startswith("at device 0 the process was killed by SIGSEGV")


def test_no_device_and_no_torch(tmp_path: Path) -> None:
    found = products(tmp_path, "")
    assert found.outcome in ("not_applicable", "warning")  # a warning where the machine has GPUs after all
    assert matmul.CHECK.run(job(tmp_path)).evidence.endswith("has no torch")
    site = torch(tmp_path / "cpu", None, "2.8.0+cpu")
    found = matmul.CHECK.run(job(tmp_path, env={"PYTHONPATH": site}))
    assert (found.outcome, found.evidence) == ("not_applicable", "torch 2.8.0+cpu is built without CUDA")


def generated(folder: Path, fault: str = "", more: str = '[model]\npath = "Qwen/Qwen3-0.6B"\n') -> Result:
    site = folder / "site"
    packages(site, vllm="0.11.0")
    (site / "vllm").mkdir(exist_ok=True)
    (site / "vllm/__init__.py").write_text(VLLM)
    env = {"PYTHONPATH": str(site), "FAULT": fault, "TOLD": str(folder / "told")}
    return generation.CHECK.run(job(folder, env=env, more=more))


def test_a_generation(tmp_path: Path) -> None:
    found = generated(tmp_path)
    assert found.outcome == "passed"
    assert found.evidence.startswith("vLLM 0.11.0 generated 3 tokens with Qwen/Qwen3-0.6B in ")
    assert "('enforce_eager', True), ('gpu_memory_utilization', 0.3)" in (tmp_path / "told").read_text()
    assert not left_behind()  # the engine's own processes too


def test_a_generation_that_fails(tmp_path: Path) -> None:
    found = generated(tmp_path, "raises")
    assert found.outcome == "failed"
    assert found.evidence.endswith("exited 1 without an answer: ValueError: No available memory for the cache blocks")
    assert found.details
    found = generated(tmp_path, "offline")
    assert (found.outcome, "download the model first" in str(found.next)) == ("unchecked", True)
    found = generated(tmp_path, "aborts")
    assert found.outcome == "warning"
    assert found.evidence.endswith("; then its process was killed by SIGABRT")
    assert not left_behind()


def test_no_engine_and_no_model(tmp_path: Path) -> None:
    assert generation.CHECK.run(job(tmp_path)).outcome == "not_applicable"
    assert generated(tmp_path, more="").outcome == "unchecked"
    assert json.dumps(generated(tmp_path).data)
