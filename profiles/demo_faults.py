"""The faults that the demo can meet on request, each a real one: real signals, real exits, real silence.

A fault is chosen with `--fault` or GRPOTUI_DEMO_FAULT. All ranks know it, so that peers of a stuck rank can
behave as peers of a rank stuck in NCCL do.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from demo_ranks import wait_for_ever

if TYPE_CHECKING:
    from collections.abc import Callable

    from demo_ranks import Ranks

KINDS = {
    "kill": "the rank is killed with SIGKILL, as by the kernel's OOM killer",
    "segv": "the rank reads address 0",
    "exit3": "the rank exits with code 3",
    "raise": "the reward function raises",
    "hang": "the rank stops taking part; all ranks ignore SIGINT from then on",
    "kill-hang": "the rank is killed and its peers do not notice; they ignore SIGINT",
    "leave-early": "the rank exits with code 0 and its peers wait for it",
    "orphan": "the rank leaves a process in a session of its own behind",
    "abort-teardown": "the rank aborts after training has completed",
    "zero-reward": "all rewards are 0, from the step on (default: the first)",
    "truncate": "no answer ever ends by itself, from the step on (default: the first)",
}
LASTING = frozenset({"zero-reward", "truncate"})
UNINTERRUPTIBLE = frozenset({"hang", "kill-hang"})
UNNOTICED = frozenset({"kill-hang", "leave-early"})
DEFAULT_STEP = 10


@dataclass(frozen=True)
class Fault:
    """What goes wrong, where and when; `kind` None is a run without a fault."""

    kind: str | None = None
    rank: int = 1
    step: int = DEFAULT_STEP
    orphan_seconds: float = 600.0

    def strike(self, step: int, ranks: Ranks) -> None:
        """Happen, on the fault's rank, in the middle of its step. Every rank calls this in every step."""
        if step != self.step:
            return
        if self.kind in UNINTERRUPTIBLE:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self.kind in UNNOTICED:
            ranks.patient = True
        if ranks.rank == self.rank and self.kind in ACTS:
            ACTS[self.kind](self)

    def score(self, step: int, rank: int, reward: float) -> float:
        """Pass a reward through, unless the fault is one of the reward function."""
        if self.kind == "raise" and step == self.step and rank == self.rank:
            raise ValueError(f"the reward function failed at step {step}, as asked for by the fault 'raise'")
        return 0.0 if self.kind == "zero-reward" and step >= self.step else reward

    def allows_stop(self, step: int) -> bool:
        """Tell whether answers may end with EOS."""
        return not (self.kind == "truncate" and step >= self.step)

    def tear_down(self, rank: int) -> None:
        """Happen after the last line of output, if that is the fault's time."""
        if self.kind == "abort-teardown" and rank == self.rank:
            os.abort()


def leave_orphan(fault: Fault) -> None:
    """Leave a process behind that belongs to no session, group or parent of this run.

    It starts a new program, because a mere copy of this process would keep the rank's connections open and
    peers could not notice the rank's end. Standard output stays shared, as with real leftovers.
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if not os.fork():
        program = f"import time; time.sleep({fault.orphan_seconds})"
        print(f"demo: process {os.getpid()} stays behind", file=sys.stderr, flush=True)
        os.execv(sys.executable, [sys.executable, "-c", program, "demo-orphan"])  # noqa: S606
    os._exit(0)


def kill_self() -> None:
    """End at once, with nothing said."""
    os.kill(os.getpid(), signal.SIGKILL)


ACTS: dict[str, Callable[[Fault], object]] = {
    "kill": lambda _: kill_self(),
    "segv": lambda _: ctypes.string_at(0),
    "exit3": lambda _: sys.exit(3),
    "hang": lambda _: wait_for_ever(),
    "kill-hang": lambda _: kill_self(),
    "leave-early": lambda _: sys.exit(0),
    "orphan": leave_orphan,
}
