"""Does CUDA start in the job's very environment, and with which libcuda? If not, where it would start."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.cuda_codes import explained
from grpotui_supervisor.preflight.cuda_search import attempt, others
from grpotui_supervisor.preflight.interpreter import interpreter

if TYPE_CHECKING:
    from grpotui_supervisor.preflight.check import Job
    from grpotui_supervisor.preflight.cuda_search import Try

_NOT_READY: Final = 802
_READY_S: Final = 30.0
"""A fabric manager that is just starting is ready within seconds."""
_AGAIN_S: Final = 3.0
_OWN: Final = "the job's environment"


class _CudaInit:
    name = "cuda_init"
    title = "CUDA starts in the job's environment"
    limit_s = 180.0
    group = "gpu"

    def run(self, job: Job) -> Result:
        """One fresh process; more of them only where it fails or does not fit."""
        reason = _not_asked_for(job)
        if reason is not None:
            return Result(outcome="not_applicable", evidence=reason)
        known = interpreter(job)
        if not known.may_use_gpus:
            none = f"nothing in {known.python} computes on GPUs (no torch, vllm, sglang, jax or cupy)"
            return Result(outcome="not_applicable", evidence=none)
        first = _until_ready(job)
        if _is_without_driver(first) and not job.loaded.profile.gpus.devices:
            none = "no NVIDIA driver here: libcuda.so.1 is not found, and there is no /dev/nvidia*"
            return Result(outcome="not_applicable", evidence=none)
        return _judged(job, first, known.torch_cuda)


CHECK: Final = _CudaInit()


def _not_asked_for(job: Job) -> str | None:
    if job.loaded.profile.gpus.devices == ():
        return "the profile gives the run no GPU"
    if job.environment.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return f"CUDA_VISIBLE_DEVICES={job.environment['CUDA_VISIBLE_DEVICES']!r} hides every GPU from the job"
    return None


def _is_without_driver(found: Try) -> bool:
    facts = found.facts
    return bool(facts.get("missing")) and not facts.get("device_nodes") and facts.get("kernel_module") is None


def _until_ready(job: Job) -> Try:
    """A machine whose fabric manager is still starting is asked again."""
    deadline = time.monotonic() + _READY_S
    while True:
        found = attempt(job, _OWN, {})
        if found.code != _NOT_READY or time.monotonic() > deadline:
            return found
        if job.stopping is not None and job.stopping.wait(_AGAIN_S):
            return found


def _judged(job: Job, first: Try, torch_cuda: str | None) -> Result:
    doubt = mismatch(first)
    if first.works and doubt is None:
        return _of_a_working(first, torch_cuda)
    tries = [first, *others(job, first)]
    data = {**_data(first), "tries": [one.document() for one in tries]}
    details = tuple(one.row() for one in tries)
    if first.works:
        step = "CUDA starts all the same; name the driver's own library in LD_LIBRARY_PATH to be sure"
        return Result(outcome="warning", evidence=f"{_seen(first)}: {doubt}", next=step, details=details, data=data)
    cause, step = _explained(first)
    working = next((one for one in tries if one.works), None)
    if working is not None:
        step = f"works with {_as_words(working)}; set it under [launch.env] · {step}"
    evidence = f"{_seen(first)}: {cause}" + (f"; {doubt}" if doubt else "")
    return Result(outcome="failed", evidence=evidence, next=step, details=details, data=data)


def mismatch(found: Try) -> str | None:
    """Why the mapped library does not fit the kernel's module; None: it does, or that cannot be told.

    The versions must be the same, but for NVIDIA's forward-compatibility library, which must be newer than the module.
    """
    library, module = found.library, found.facts.get("kernel_module")
    version = library.get("version")
    if library.get("stub"):
        return "it is the toolkit's stub"
    if version is None or module is None or version == module:
        return None
    if library.get("marked") and _numbers(version) > _numbers(module):
        return None if found.works else f"the compatibility library {version} on the kernel module {module}"
    kind = "a compatibility library older than the module" if library.get("marked") else "another version"
    return f"the kernel module is {module}: {kind}"


def _of_a_working(found: Try, torch_cuda: str | None) -> Result:
    data = {**_data(found), "tries": [found.document()], "torch_cuda": torch_cuda}
    cuda = found.facts.get("cuda")
    if torch_cuda and isinstance(cuda, int) and int(torch_cuda.split(".")[0]) > cuda // 1000:
        cause, step = explained(35)
        told = f"torch is built for CUDA {torch_cuda}, the driver serves up to {_version(cuda)}: {cause}"
        return Result(outcome="failed", evidence=told, next=step, data=data)
    if found.facts.get("device_count") == 0:
        cause, step = explained(100)
        return Result(outcome="failed", evidence=f"{_seen(found)}, but it has no device: {cause}", next=step, data=data)
    count = found.facts.get("device_count")
    devices = f", {count} device{'' if count == 1 else 's'}" if count is not None else ""
    same = found.library.get("version") == found.facts.get("kernel_module")  # a driver's own may carry the mark, too
    extra = " (forward-compatibility library)" if found.library.get("marked") and not same else ""
    return Result(outcome="passed", evidence=f"{_seen(found)}{extra}{devices}", data=data)


def _explained(found: Try) -> tuple[str, str]:
    if found.code is not None:
        return explained(found.code)
    if found.facts.get("missing"):
        step = "in a container: start it with its GPUs (--gpus all; NVIDIA_DRIVER_CAPABILITIES with compute)"
        return "the driver's library is not on the search path of the job", f"{step}; see `ldconfig -p | grep libcuda`"
    if found.answer.outcome == "timed_out":
        return (
            "a hang in the driver",
            "see `dmesg | grep -i -e xid -e nvrm`; a driver that hangs needs a reset or a reboot",
        )
    return "the process that asked died of it", f"its last words: {_last_line(found.answer.stderr_tail)}"


def _last_line(text: str) -> str:
    return text.splitlines()[-1] if text else "none"


def _seen(found: Try) -> str:
    module = found.facts.get("kernel_module")
    driver = "" if module is None else f", kernel module {module}"
    path = found.library.get("path")
    library = "" if path is None else f" from {path}"
    if found.code is not None:
        return f"cuInit returned {found.outcome}{library}{driver}"
    if found.facts.get("missing"):
        return f"libcuda.so.1 {found.outcome}{driver}"
    return f"cuInit did not answer: the process {found.answer.words}{library}{driver}"


def _as_words(found: Try) -> str:
    words = [f"{name} unset" if value is None else f"{name}={value}" for name, value in found.changes.items()]
    return " ".join(words)


def _data(found: Try) -> dict[str, Any]:
    facts = found.facts
    known = (
        "kernel_module",
        "device_nodes",
        "candidates",
        "libraries",
        "code",
        "name",
        "cuda",
        "device_count",
        "missing",
    )
    return {key: facts.get(key) for key in known}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _version(cuda: int) -> str:
    return f"{cuda // 1000}.{cuda % 1000 // 10}"
