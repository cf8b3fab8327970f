"""Does every device compute? One small product each, through the job's own torch, held against the CPU's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.child import run_program
from grpotui_supervisor.preflight.interpreter import interpreter

if TYPE_CHECKING:
    from grpotui_supervisor.preflight.check import Job, Outcome
    from grpotui_supervisor.preflight.child import Answer

LIMIT_S: Final = 120.0
"""Importing torch takes 3 s from a warm local disk, a minute from a cold network disk; each device about 1 s."""
_HINTS: Final = {
    "no kernel image": "this torch was built without code for this GPU: a build for it is needed",
    "out of memory": "somebody holds the device's memory: grpotui gpus",
    "uncorrectable ECC": "the device's memory is failing: nvidia-smi -q -d ECC; drain it",
}


class _Matmul:
    name = "matmul"
    title = "Every GPU computes"
    limit_s = LIMIT_S + 25
    group = "gpu"
    needs = ("cuda_init",)
    uses_gpu_memory = True
    costly = True

    def run(self, job: Job) -> Result:
        """One process for all devices."""
        found = interpreter(job)
        if not found.has_torch:
            return Result(outcome="not_applicable", evidence=f"{found.python} has no torch")
        if not found.torch_build:
            none = f"torch {found.packages['torch']} is built without CUDA"
            return Result(outcome="not_applicable", evidence=none)
        if job.environment.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
            return Result(outcome="not_applicable", evidence="CUDA_VISIBLE_DEVICES hides every GPU from the job")
        if job.loaded.profile.gpus.devices == ():
            return Result(outcome="not_applicable", evidence="the profile gives the run no GPU")
        return _judged(run_program("matmul", job, limit_s=LIMIT_S))


CHECK: Final = _Matmul()


def _judged(answer: Answer) -> Result:
    told = answer.facts
    devices: list[dict[str, Any]] = told.get("devices", [])
    details = (*map(_line, devices), *(f"mapped: {path}" for path in told.get("libraries", ())))
    bad = [device for device in devices if _trouble(device) is not None]
    if answer.outcome != "answered":
        error = told.get("error") or (answer.stderr_tail.splitlines() or ["no last words"])[-1]
        evidence = f"at {told.get('stage', 'its start')} the process {answer.words}: {error}"
        outcome: Outcome = "unchecked" if answer.outcome in ("not_started", "stopped") else "failed"
        return Result(outcome=outcome, evidence=evidence, next=_hint(error), details=details, data=told)
    if not devices:
        return _without_device(told)
    if bad:
        words = "; ".join(f"device {device['device']}: {_trouble(device)}" for device in bad)
        return Result(outcome="failed", evidence=words, next=_hint(words), details=details, data=told)
    count = "1 device" if len(devices) == 1 else f"{len(devices)} devices"
    evidence = f"{count}: the product of two 256 × 256 matrices is right on each, in float32 and bfloat16"
    return Result(outcome="passed", evidence=evidence, details=details, data=told)


def _without_device(told: dict[str, Any]) -> Result:
    if told.get("device_nodes"):
        seen = f"torch {told.get('torch')} sees no device, although there are {', '.join(told['device_nodes'][:4])}"
        step = "a torch that is built without CUDA? CUDA_VISIBLE_DEVICES? see the check cuda_init"
        return Result(outcome="warning", evidence=seen, next=step, data=told)
    none = f"torch {told.get('torch')} sees no device, and there is none"
    return Result(outcome="not_applicable", evidence=none, data=told)


def _trouble(device: dict[str, Any]) -> str | None:
    if "error" in device:
        return str(device["error"])
    wrong = [f"{count} of 65536 values are wrong in {kind}" for kind, count in device["wrong"].items() if count]
    return ", ".join(wrong) or None


def _hint(text: str) -> str:
    found = (step for word, step in _HINTS.items() if word in text)
    return next(found, "run it by hand in the job's environment; see `dmesg | grep -i xid`")


def _line(device: dict[str, Any]) -> str:
    name = device.get("name") or "unknown"
    return f"device {device['device']}: {name}: {_trouble(device) or 'right'}, {device['seconds']:.1f} s"
