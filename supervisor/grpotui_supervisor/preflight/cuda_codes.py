"""What the return codes of `cuInit` mean, and what to do: names of cuda.h 12.9, causes of public cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """One return code of the CUDA driver."""

    name: str
    cause: str
    next: str


CODES: Final[dict[int, Code]] = {
    0: Code("SUCCESS", "the driver is ready", ""),
    1: Code("INVALID_VALUE", "an argument was refused", "see the library that is mapped: is it NVIDIA's?"),
    2: Code(
        "OUT_OF_MEMORY", "no memory for the driver's own state", "see `ulimit -v`, and who fills the GPUs: grpotui gpus"
    ),
    3: Code(
        "NOT_INITIALIZED",
        "used after a fork, or an earlier initialisation failed",
        "start workers by spawn, not by fork, once CUDA is in use",
    ),
    34: Code(
        "STUB_LIBRARY",
        "the library is the toolkit's stub, which is there to link against and does nothing",
        "take …/lib64/stubs off LD_LIBRARY_PATH",
    ),
    35: Code(
        "INSUFFICIENT_DRIVER",
        "the CUDA that torch was built for is newer than the driver",
        "a newer driver, or a torch built for an older CUDA",
    ),
    46: Code(
        "DEVICE_UNAVAILABLE",
        "the device is in exclusive or prohibited compute mode, and somebody may hold it",
        "nvidia-smi -q -d COMPUTE; who holds it: grpotui gpus",
    ),
    100: Code(
        "NO_DEVICE",
        "CUDA_VISIBLE_DEVICES names none, device nodes are missing, or the library does not know the GPU",
        "compare CUDA_VISIBLE_DEVICES with `nvidia-smi -L`, and see `ls -l /dev/nvidia*`",
    ),
    101: Code(
        "INVALID_DEVICE",
        "CUDA_VISIBLE_DEVICES names a device that is not there, or one of the visible ones is dead",
        "leave the devices out one by one; see `nvidia-smi -L` and `dmesg | grep -i xid`",
    ),
    304: Code(
        "OPERATING_SYSTEM",
        "the kernel refused to open or use a device node: a cgroup rule, seccomp, or the limit of locked memory",
        "see `ls -l /dev/nvidia*`; in a container start it anew with its GPUs",
    ),
    800: Code(
        "NOT_PERMITTED", "this process may not use the device", "see the container's capabilities and device rules"
    ),
    801: Code(
        "NOT_SUPPORTED", "the driver does not support it here", "see the GPU's mode: MIG, vGPU, confidential computing"
    ),
    802: Code(
        "SYSTEM_NOT_READY",
        "on machines with NVSwitch the fabric manager is missing, of another version, or still starting",
        "systemctl status nvidia-fabricmanager; it must have the driver's very version",
    ),
    803: Code(
        "SYSTEM_DRIVER_MISMATCH",
        "the process maps a libcuda that is not of the kernel driver's version: the image's compatibility library, or a"
        " second driver installation, comes first in the search",
        "put the directory of the driver's own libcuda first in LD_LIBRARY_PATH; never overwrite a libcuda",
    ),
    804: Code(
        "COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "the image's compatibility library is mapped, which works on data-centre GPUs only: the driver is too old for"
        " the image",
        "a newer driver, an older image, or the compatibility library off the search path",
    ),
    805: Code(
        "MPS_CONNECTION_FAILED", "the MPS daemon does not answer", "see CUDA_MPS_PIPE_DIRECTORY and the daemon's log"
    ),
    806: Code("MPS_RPC_FAILURE", "the MPS server failed", "see the log of nvidia-cuda-mps-control; start it anew"),
    807: Code("MPS_SERVER_NOT_READY", "the MPS server is not ready", "wait, or start nvidia-cuda-mps-control anew"),
    808: Code("MPS_MAX_CLIENTS_REACHED", "the MPS server has as many clients as it takes", "end some of them"),
    809: Code("MPS_MAX_CONNECTIONS_REACHED", "the MPS server has no connection left", "end some of its clients"),
    810: Code("MPS_CLIENT_TERMINATED", "the MPS server ended this client", "see the log of nvidia-cuda-mps-control"),
    999: Code(
        "UNKNOWN",
        "mostly the nvidia_uvm module: stale after the machine slept, not loaded, or without its node /dev/nvidia-uvm",
        "nvidia-modprobe -u -c0, or load nvidia_uvm anew",
    ),
}


def named(code: int) -> str:
    """`803 SYSTEM_DRIVER_MISMATCH`."""
    found = CODES.get(code)
    return str(code) if found is None else f"{code} {found.name}"


def explained(code: int) -> tuple[str, str]:
    """Cause and next step; of a code that is not in the table, that."""
    found = CODES.get(code)
    if found is None:
        return "a code that grpotui does not know", "look it up as CUresult in cuda.h"
    return found.cause, found.next
