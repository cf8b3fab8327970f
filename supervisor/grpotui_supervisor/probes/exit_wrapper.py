"""Opt-in wrapper in front of a worker that a launcher starts: it records the worker's real exit status.

Run as `python -I -S exit_wrapper.py COMMAND…`, for example through `torchrun --no-python`. Standard library only,
Python 3.8 and newer. It can never make the job fail: whatever it cannot do, it leaves out and runs the command.

The worker gets a process group of its own, so that a signal reaches it exactly once: passed on by us. When we are
killed, the kernel kills the worker (PDEATHSIG), since the launcher takes it for dead. We end the way it ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_PR_SET_PDEATHSIG = 1
_PASSED_ON = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")


def main(argv: list[str]) -> None:
    """Runs the command, records how it ended, and ends in the same way."""
    record = _Record.open()
    if record is None:
        os.execvp(argv[0], argv)  # noqa: S606  (this program's whole purpose)
    child = _start(argv)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        try:
            os.kill(child, number)
        except OSError:  # it has ended meanwhile
            return

    for name in _PASSED_ON:
        signal.signal(getattr(signal, name), pass_on)
    record.write("spawned", pid=child)
    info = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert info is not None  # noqa: S101  (None comes only with WNOHANG)
    record.write("exit", pid=child, **_ending(info))
    os.waitpid(child, 0)
    _end_likewise(info)


class _Record:
    """`ranks/<RANK>/wrapper-<pid>.jsonl` of the run directory."""

    def __init__(self, fd: int, rank: int) -> None:
        self._fd, self._rank, self._seq = fd, rank, 0

    @classmethod
    def open(cls) -> _Record | None:
        """The record, or None where there is no run directory to write to."""
        directory, rank = os.environ.get("GRPOTUI_RUN_DIR"), os.environ.get("RANK")
        if not directory or not rank or not rank.isdigit():
            return None
        try:
            os.makedirs(f"{directory}/ranks/{rank}", 0o700, exist_ok=True)
            path = f"{directory}/ranks/{rank}/wrapper-{os.getpid()}.jsonl"
            record = cls(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), int(rank))
        except OSError:
            return None
        record.write("header", schema=1, writer="wrapper")
        return record

    def write(self, ev: str, **fields: object) -> None:
        """One line."""
        self._seq += 1
        line: dict[str, object] = {
            "ev": ev,
            "t": time.time(),
            "m": time.monotonic_ns(),
            "seq": self._seq,
            "rank": self._rank,
        }
        line.update(fields, wrapper=os.getpid())
        try:
            os.write(self._fd, json.dumps(line).encode() + b"\n")
        except OSError:  # a full disk is no reason to disturb the worker
            return


def _start(argv: list[str]) -> int:
    libc, parent = ctypes.CDLL(None), os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0o177)
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(2, f"grpotui exit_wrapper: {argv[0]}: {error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _ending(info: os.waitid_result) -> dict[str, object]:
    if info.si_code == os.CLD_EXITED:
        return {"how": "exited", "code": info.si_status, "signal": None, "signo": None, "core": False}
    try:
        name = signal.Signals(info.si_status).name
    except ValueError:
        name = f"SIG{info.si_status}"
    core = info.si_code == os.CLD_DUMPED
    return {"how": "killed", "code": None, "signal": name, "signo": info.si_status, "core": core}


def _end_likewise(info: os.waitid_result) -> None:
    if info.si_code == os.CLD_EXITED:
        os._exit(info.si_status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the worker's core is the one that matters
    if info.si_status not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(info.si_status, signal.SIG_DFL)
    os.kill(os.getpid(), info.si_status)
    os._exit(128 + info.si_status)


if __name__ == "__main__":
    main(sys.argv[1:])
