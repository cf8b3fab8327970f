"""This process's record: `ranks/<member>/probe-<pid>.jsonl`."""

from __future__ import annotations

import json
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WANTED = frozenset(os.environ.get("GRPOTUI_HOOK", "").split(","))
"""`phases`, `torch_memory`, `parameters`: those that the profile asks for."""


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without its errors: whatever goes wrong in here must not reach the job."""

    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        try:
            return function(*args, **kwargs)
        except Exception:  # noqa: BLE001  (KeyboardInterrupt and SystemExit are the job's)
            return None

    return call


class Record:
    """One line a `write`, by one write(). A forked child writes a file of its own."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begins anew, in a process that has written nothing so far."""
        self._lock = threading.RLock()  # a signal handler that runs in the middle of a line gets past it
        self.pid = os.getpid()
        self._fd = -1
        self._file: tuple[int, int] | None = None
        self._seq = 0
        self._lost = 0
        self._torn = False
        self._useless = False

    def write(self, ev: str, fields: dict[str, Any]) -> int:
        """Returns the number of the line, 0 where it could not be written."""
        if self.pid != os.getpid():  # a fork that Python was not told of
            self.renew()
        with self._lock:
            if self._useless or (self._fd < 0 and not self._open()):
                return 0
            return self._put(ev, fields)

    def _open(self) -> bool:
        self._useless = True  # until it is proven: a read-only directory is not tried again at every step
        folder = f"{os.environ['GRPOTUI_RUN_DIR']}/ranks/{_member()}"
        os.makedirs(folder, 0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(f"{folder}/probe-{self.pid}.jsonl", flags, 0o600)
        self._file = self._identity()
        self._useless = False
        return bool(self._put("header", _header()))

    def _identity(self) -> tuple[int, int]:
        found = os.fstat(self._fd)
        return found.st_dev, found.st_ino

    def _put(self, ev: str, fields: dict[str, Any]) -> int:
        if self._identity() != self._file:  # the job closed our descriptor, and its number is another file's now
            self._fd, self._useless = -1, True
            return 0
        line: dict[str, Any] = {"ev": ev, "t": time.time(), "m": time.monotonic_ns(), "seq": self._seq + 1}
        line.update(fields)
        if self._lost:
            line["lost"] = self._lost
        data = (b"\n" if self._torn else b"") + json.dumps(line, allow_nan=False).encode() + b"\n"
        try:
            written = os.write(self._fd, data)
        except OSError:  # a full disk: how many lines are missing is said in the next one
            written = 0
        if written == len(data):
            self._seq, self._lost, self._torn = self._seq + 1, 0, False
            return self._seq
        self._lost, self._torn = self._lost + 1, self._torn or written > 0
        return 0


def _member() -> str:
    """The shim's name for this process; a launcher's worker goes by its rank, as with the exit wrapper."""
    rank, mark = os.environ.get("RANK", ""), os.environ["GRPOTUI_RANK"]
    return rank if mark == "driver" and rank.isdigit() else mark


def _header() -> dict[str, Any]:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    with open("/proc/self/stat", "rb") as stat:
        start = int(stat.read().rpartition(b")")[2].split()[19])
    rank = os.environ.get("RANK", "")
    return {
        "schema": 1,
        "writer": "hook",
        "version": os.environ.get("GRPOTUI_HOOK_VERSION"),
        "node": os.environ.get("GRPOTUI_HOOK_NODE"),
        "boot": boot,
        "pidns": os.readlink("/proc/self/ns/pid"),
        "pid": os.getpid(),
        "start": start,
        "member": _member(),
        "rank": int(rank) if rank.isdigit() else None,
        "python": ".".join(map(str, sys.version_info[:3])),
        "wanted": sorted(WANTED),
    }


record = Record()
os.register_at_fork(after_in_child=record.renew)
