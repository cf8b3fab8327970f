"""Looking at processes and doing to them what faults do."""

from __future__ import annotations

import os
import signal

from grpotui_supervisor.shim import procfs
from support.waiting import wait_until


def freeze(pid: int) -> None:
    """SIGSTOP; returns when it stands still."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: (found := procfs.stat(pid)) and found.state == "T", what=f"{pid} to stop")


def wait_dead(*pids: int) -> None:
    """Until these are gone or zombies."""
    wait_until(lambda: not any(procfs.is_running(pid) for pid in pids), what=f"the end of {pids}")


def signals_of(pid: int, line: str) -> set[int]:
    """Signals in a line of /proc/PID/status, such as SigIgn, SigBlk or ShdPnd."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        mask = next(int(text.split()[1], 16) for text in file if text.startswith(line))
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def reap() -> None:
    """Reaps every zombie of this process: for tests that make it a parent of what a dead shim leaves."""
    for pid in procfs.offspring(os.getpid()):
        if not procfs.is_running(pid):
            os.waitpid(pid, 0)
