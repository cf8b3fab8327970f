"""A rank for tests: `python -I -S rank.py MODE [UNTIL]`, quick to start and exact in how it ends.

MODE: exit0 exit3 exit137 exit255 segv abrt kill term · sleep (dies of INT and TERM) · stubborn (ignores both) ·
orphan / orphan-stubborn (leaves a double-forked child in its own session, then exits 0) · tree (five nested sessions) ·
daemonise (closes its streams, a child goes on, exits 0) · write FILE (writes for ever). UNTIL is an absolute
CLOCK_MONOTONIC time in seconds.
"""

import ctypes
import os
import signal
import sys
import time


def die(mode: str) -> None:
    if mode.startswith("exit"):
        os._exit(int(mode[4:]))
    if mode == "segv":
        ctypes.string_at(0)
    number = {"abrt": signal.SIGABRT, "kill": signal.SIGKILL, "term": signal.SIGTERM}[mode]
    os.kill(os.getpid(), number)


def ignore() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def orphan(*, stubborn: bool) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        if stubborn:
            ignore()
        else:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
        while True:
            time.sleep(3600)
    os.wait()


def tree(depth: int) -> None:
    if depth and os.fork() == 0:
        os.setsid()
        tree(depth - 1)
        while True:
            time.sleep(3600)


def idle() -> None:
    while True:
        time.sleep(3600)


def leave_orphan() -> None:
    orphan(stubborn=False)
    os._exit(0)


def leave_stubborn_orphan() -> None:
    orphan(stubborn=True)
    os._exit(0)


def grow_tree() -> None:
    tree(5)
    idle()


def daemonise() -> None:
    os.close(1)
    os.close(2)
    if os.fork() == 0:
        idle()
    os._exit(0)


def write_for_ever() -> None:
    ignore()
    with open(sys.argv[2], "wb", buffering=0) as file:
        while True:
            file.write(b"x" * (1 << 20))
            time.sleep(0.2)
            file.truncate(0)


MODES = {
    "sleep": idle,
    "stubborn": idle,
    "orphan": leave_orphan,
    "orphan-stubborn": leave_stubborn_orphan,
    "tree": grow_tree,
    "daemonise": daemonise,
    "write": write_for_ever,
}


def main() -> None:
    mode = sys.argv[1]
    until = float(sys.argv[2]) if len(sys.argv) > 2 and mode != "write" else 0.0
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print("up", flush=True)
    if mode == "stubborn":
        ignore()
    while (left := until - time.monotonic()) > 0:
        time.sleep(left)
    MODES.get(mode, lambda: die(mode))()


main()
