"""Process settings that the standard library has no call for, or that must be undone after an unknown launcher."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import time

_PR_SET_CHILD_SUBREAPER = 36
_LOCK_TRIES = 25
RESETTABLE = [s for s in signal.valid_signals() if s not in (signal.SIGKILL, signal.SIGSTOP)]
STOP_SIGNALS = {signal.SIGTERM: "stop", signal.SIGINT: "interrupt", signal.SIGQUIT: "kill"}
"""What a signal to the shim asks for: the way to stop a run when no request file can be written."""

_AWAITED = (*STOP_SIGNALS, signal.SIGUSR1, signal.SIGCHLD)


def become_subreaper() -> None:
    """Orphans of the ranks become our children; not inherited by fork, so both processes call it."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this kernel does not let a process adopt orphans (subreaper)")


def neutral_signals() -> None:
    """SIGCHLD may be inherited as ignored (a Ray worker does that): every status would be lost."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def hold_back_signals() -> None:
    """Blocks the signals that tell or ask something: until there is a handler for them they would end us."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)


def let_signals_in() -> None:
    """Ends `hold_back_signals`; what has come since then is handled now."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def next_signal() -> int:
    """Waits for one of the signals that are held back.

    A handler and a blocking call would not do: a signal between the last bytecode and the call is handled only when
    the call returns, which may be never.
    """
    return signal.sigwaitinfo(_AWAITED).si_signo


def peek(pid: int) -> os.waitid_result | None:
    """How our child ended, left unreaped; None while it lives.

    Raises:
        ChildProcessError: it is no child of ours.
    """
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def is_child(pid: int) -> bool:
    """Whether the process is our child, dead or alive."""
    try:
        peek(pid)
    except OSError:
        return False
    return True


def take_lock(path: str) -> bool:
    """Holds the lock as long as this process, and what it forks, lives; False when somebody else does.

    A client that only asks whether we live holds it shared, for microseconds: that must not end us.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    os.close(fd)
    return False


def wakeup_pipe() -> int:
    """Readable end of a pipe that gets a byte for each signal that has a Python handler."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader
