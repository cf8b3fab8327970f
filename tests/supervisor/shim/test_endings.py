"""Each way to end is told apart, and none is folded into another."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest
from support.runs import rank_argv

if TYPE_CHECKING:
    from support.runs import ShimRun

ENDINGS = {
    "exit0": ("exited", 0),
    "exit3": ("exited", 3),
    "exit137": ("exited", 137),
    "exit255": ("exited", 255),
    "kill": ("killed", "SIGKILL"),
    "segv": ("killed", "SIGSEGV"),
    "abrt": ("killed", "SIGABRT"),
    "term": ("killed", "SIGTERM"),
}


def test_every_ending_is_told_apart(shim: ShimRun) -> None:
    shim.start([rank_argv(mode) for mode in ENDINGS], limits={"grace": 30})
    shim.wait_done()
    assert [shim.ends()[rank] for rank in range(len(ENDINGS))] == list(ENDINGS.values())


@pytest.mark.parametrize("limit", [0, resource.RLIM_INFINITY])
def test_a_core_is_on_record(shim: ShimRun, limit: int) -> None:
    command = f'ulimit -c {"unlimited" if limit else 0}; cd {shim.path}; exec "$@"'
    shim.start([["/bin/sh", "-c", command, "sh", *rank_argv("segv")]])
    shim.wait_done()
    (end,) = shim.of("exit")
    assert (end["signal"], end["core"]) == ("SIGSEGV", bool(limit))
