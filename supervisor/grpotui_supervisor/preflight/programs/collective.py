"""One rank of the collective check: rank r contributes r + 1, and every rank must see N(N+1)/2.

With `bandwidth` it then measures how fast the ranks sum up a large tensor.
"""

from __future__ import annotations

import datetime as dt
import importlib
import os
import sys
import time

from grpotui_supervisor.preflight.programs.base import answer, failure, mapped, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGE_BYTES = {"nccl": 256 << 20, "gloo": 16 << 20}
_ROUNDS = 5
_LONG = dt.timedelta(hours=1)
"""grpotui's own deadline comes first: it says more than the library's."""


def main(what: str) -> None:
    """Joins the others, sums up, and leaves them."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    tell(stage="importing torch")
    torch = importlib.import_module("torch")
    dist = importlib.import_module("torch.distributed")
    tell(stage="choosing its device", torch=torch.__version__)
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    backend, device = ("nccl", f"cuda:{rank}") if count else ("gloo", "cpu")
    tell(device_count=count, backend=backend, device=device)
    if count:
        if rank >= count:
            raise RuntimeError(f"rank {rank} has no device: {count} visible")
        torch.cuda.set_device(rank)
    tell(stage="the rendezvous")
    dist.init_process_group(backend, timeout=_LONG)
    tell(stage="the sum")
    own = torch.tensor([float(rank + 1)], device=device)
    dist.all_reduce(own)
    seen = own.item()
    tell(seen=seen, libraries=mapped("libnccl.so", "libcuda.so"), nccl=_nccl_version(torch, backend))
    if what == "bandwidth":
        tell(stage="the measurement")
        tell(**_measured(torch, dist, backend, device, size))
    tell(stage="leaving")
    dist.destroy_process_group()
    answer()


def _nccl_version(torch: Any, backend: str) -> str | None:  # noqa: ANN401  (the module)
    return ".".join(map(str, torch.cuda.nccl.version())) if backend == "nccl" else None


def _measured(torch: Any, dist: Any, backend: str, device: str, size: int) -> dict[str, float]:  # noqa: ANN401
    """Bytes that pass each rank's links in a second: a ring moves 2(N-1)/N of the tensor, as nccl-tests count it."""
    large = torch.zeros(LARGE_BYTES[backend] // 4, device=device)
    for _ in range(2):
        dist.all_reduce(large)
    dist.barrier()
    _finish(torch, backend)
    began = time.monotonic()
    for _ in range(_ROUNDS):
        dist.all_reduce(large)
    _finish(torch, backend)
    seconds = (time.monotonic() - began) / _ROUNDS
    moved = LARGE_BYTES[backend] * 2 * (size - 1) / size
    return {
        "tensor_bytes": LARGE_BYTES[backend],
        "seconds": seconds,
        "bytes_per_s": moved / seconds if seconds else 0.0,
    }


def _finish(torch: Any, backend: str) -> None:  # noqa: ANN401  (the module)
    if backend == "nccl":
        torch.cuda.synchronize()


def _original(error: BaseException) -> str:
    """NCCL puts what really happened behind `Last error:`."""
    lines = [line.strip() for line in str(error).splitlines()]
    behind = lines[lines.index("Last error:") + 1 :] if "Last error:" in lines else []
    return " · ".join([failure(error), *behind[:1]])


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Exception as error:
        tell(error=_original(error))
        raise
