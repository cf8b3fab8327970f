"""A preflight on two H200 (driver 580.159.04, CUDA 13.0, torch 2.11.0): what was true there, by the schema of today.

Beside it, by hand on that machine: `CUDA_VISIBLE_DEVICES=7` → 100, and with the image's own library of 580.95.05 first
in LD_LIBRARY_PATH → 803, since the kernel module is 580.159.04.
"""

from __future__ import annotations

import json
import os

from support.schemas import check

PATH = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data/preflight/two-h200.json")


def test_what_was_true_on_two_h200() -> None:
    with open(PATH, encoding="utf-8") as file:
        document = json.load(file)
    check("preflight", document)
    found = {one["name"]: one for one in document["checks"]}
    assert document["outcome"] == "passed"
    assert [name for name, one in found.items() if one["outcome"] == "passed"] == [
        "versions", "gpus", "topology", "cuda_init", "matmul", "collective", "memory_group", "shm", "limits", "ports",
        "clock", "init_process", "memory_back",
    ]  # fmt: skip
    started = found["cuda_init"]["data"]
    assert (started["code"], started["cuda"], started["device_count"]) == (0, 13000, 2)
    assert started["libraries"][0]["version"] == started["kernel_module"] == "580.159.04"
    assert found["topology"]["data"]["nvlinks"] == {"0": 18, "1": 18}
    assert "each saw 3 = 2·3/2" in found["collective"]["evidence"]
