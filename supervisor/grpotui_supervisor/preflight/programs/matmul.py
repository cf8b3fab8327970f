"""One small matrix product on each device that torch sees, held against the same product on the CPU."""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback

from grpotui_supervisor.preflight.programs.base import answer, failure, mapped, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIDE = 256
_ROUNDING = 2.0**-7
"""Of a result in bfloat16, which has 8 bits; the sums before are in float32."""


def main() -> None:
    """All devices, one after the other; what fails on one does not keep the next from its turn."""
    tell(stage="importing torch")
    torch = importlib.import_module("torch")
    tell(torch=torch.__version__, stage="looking for devices", device_nodes=_nodes())
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    tell(count=count)
    found = []
    for index in range(count):
        tell(stage=f"device {index}")
        found.append(_device(torch, index))
        tell(devices=found)
    answer(devices=found, libraries=mapped("libcuda.so", "libcudart.so", "libcublas.so"))


def _nodes() -> list[str]:
    try:
        return sorted(name for name in os.listdir("/dev") if name.startswith(("nvidia", "dxg", "kfd")))
    except OSError:
        return []


def _device(torch: Any, index: int) -> dict[str, Any]:  # noqa: ANN401  (the module)
    began = time.monotonic()
    facts = {"device": index}  # type: dict[str, Any]
    try:
        properties = torch.cuda.get_device_properties(index)
        facts.update(name=properties.name, uuid=str(getattr(properties, "uuid", "")) or None)
        facts["wrong"] = _wrong(torch, f"cuda:{index}")
    except Exception as error:  # noqa: BLE001  (whatever a library raises is the evidence)
        traceback.print_exc()
        facts["error"] = failure(error)
    facts["seconds"] = round(time.monotonic() - began, 3)
    return facts


def _wrong(torch: Any, device: str) -> dict[str, int]:  # noqa: ANN401  (the module)
    """How many values of the product differ, by type. In float32 it is exact: sums of whole numbers below 2^24."""
    left = (torch.arange(SIDE * SIDE) % 7).reshape(SIDE, SIDE)
    right = (torch.arange(SIDE * SIDE) % 5).reshape(SIDE, SIDE)
    exact = left.double() @ right.double()
    found = {}
    for kind, allowed in (("float32", 0.0), ("bfloat16", _ROUNDING)):
        dtype = getattr(torch, kind)
        product = (left.to(device, dtype) @ right.to(device, dtype)).double().cpu()
        found[kind] = int(((product - exact).abs() > allowed * exact).sum())
    return found


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        tell(error=failure(error))
        raise
    sys.stdout.flush()
