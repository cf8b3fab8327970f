"""What /proc says of a process. Every function answers None or an empty value for a process that is gone."""

from __future__ import annotations

import os
import time

RUN_MARK = "GRPOTUI_RUN_ID"
MEMBER_MARK = "GRPOTUI_RANK"


class Stat:
    """The fields of /proc/PID/stat that identify a process and say whether it lives.

    `start` is in clock ticks since boot: with the boot id, the pid namespace and the pid it names one process.
    """

    __slots__ = ("cpu_ticks", "exit_status", "name", "pgid", "ppid", "rss_pages", "sid", "start", "state", "threads")

    def __init__(self, raw: bytes) -> None:
        close = raw.rindex(b")")  # the name may itself hold spaces and parentheses
        fields = raw[close + 2 :].split()
        self.name = raw[raw.index(b"(") + 1 : close].decode("utf-8", "replace")
        self.state = fields[0].decode()
        self.ppid, self.pgid, self.sid = int(fields[1]), int(fields[2]), int(fields[3])
        self.cpu_ticks = int(fields[11]) + int(fields[12])
        self.threads = int(fields[17])
        self.start = int(fields[19])
        self.rss_pages = int(fields[21])
        self.exit_status = int(fields[49])

    @property
    def has_ended(self) -> bool:
        """Whether no thread is left. A process whose main thread alone has ended shows as Z too, with status 0."""
        return self.state in "XZ" and self.threads <= 1


def _read(path: str, limit: int = 1 << 20) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return os.read(fd, limit)
    except OSError:
        return None
    finally:
        os.close(fd)


def stat(pid: int) -> Stat | None:
    """The process's stat line, or None when it is gone."""
    raw = _read(f"/proc/{pid}/stat", 4096)
    try:
        return Stat(raw) if raw else None
    except (ValueError, IndexError):
        return None


def is_alive(pid: int, start: int) -> bool:
    """Whether the very process that was recorded still runs: same start time, and no zombie."""
    found = stat(pid)
    if found is None:
        return _may_exist(pid)
    return found.start == start and not found.has_ended


def is_running(pid: int) -> bool:
    """Whether the pid is in use by a process that is no zombie."""
    found = stat(pid)
    return found is not None and not found.has_ended


def _may_exist(pid: int) -> bool:
    """For a process whose stat line cannot be read: without a free descriptor a living one must not read as gone."""
    if pid <= 0:  # to kill() a group, not a process
        return False
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True


def zombie_status(pid: int, start: int) -> int | None:
    """Raw wait status of an unreaped process that is not our child (stat field 52), or None.

    The kernel prints 0 there to readers without ptrace access. /proc/PID/io asks for the same access, so a
    status counts only where that file can be read: a hidden status must not read as success.
    """
    found = stat(pid)
    if found is None or found.start != start or not found.has_ended:
        return None
    if found.exit_status == 0 and _read(f"/proc/{pid}/io", 16) is None:
        return None
    return found.exit_status


def written_bytes(pid: int) -> int:
    """Bytes that the process has handed to write calls, to files and anything else; 0 where that is hidden."""
    for line in (_read(f"/proc/{pid}/io", 4096) or b"").splitlines():
        if line.startswith(b"wchar:"):
            return int(line[6:])
    return 0


def environment(pid: int) -> dict[str, str]:
    """The environment a process was started with; programs that rewrite their title may have erased it."""
    raw = _read(f"/proc/{pid}/environ") or b""
    pairs = (item.partition(b"=") for item in raw.split(b"\0") if item)
    return {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, _, value in pairs}


def title(pid: int) -> str:
    """First word of the command line, as of a rewritten title: `VLLM::EngineCore`. What follows may be a secret."""
    words = command_line(pid)[:256].replace(b"\0", b" ").split(None, 1)
    return words[0].decode("utf-8", "replace") if words else ""


def command_line(pid: int) -> bytes:
    """The words of the command line, each with a NUL behind it; empty for a zombie."""
    return _read(f"/proc/{pid}/cmdline", 4096) or b""


def is_kernel_thread(pid: int) -> bool:
    """Whether it is a thread of the kernel's, which has no program: PF_KTHREAD of include/linux/sched.h."""
    raw = _read(f"/proc/{pid}/stat", 4096) or b""
    fields = raw[raw.rfind(b")") + 2 :].split()
    return len(fields) > 6 and fields[6].isdigit() and bool(int(fields[6]) & 0x00200000)


def thread_group(pid: int) -> int | None:
    """The process that a thread belongs to: itself for a process."""
    return _status_number(pid, b"Tgid:")


def user(pid: int) -> int | None:
    """The real uid that a process runs as; its folder in /proc is root's where it may not be looked into."""
    return _status_number(pid, b"Uid:")


def _status_number(pid: int, key: bytes) -> int | None:
    """The first number behind a key of /proc/PID/status."""
    for line in (_read(f"/proc/{pid}/status") or b"").splitlines():
        if line.startswith(key):
            return int(line[len(key) :].split()[0])
    return None


def children(pid: int) -> list[int]:
    """Direct children, whichever thread started them. May skip one while others exit: ask again, or `offspring`."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    lists = [raw for thread in threads if (raw := _read(f"/proc/{pid}/task/{thread}/children")) is not None]
    if not lists:  # a kernel built without CONFIG_PROC_CHILDREN
        return offspring(pid)
    return [int(word) for raw in lists for word in raw.split()]


def offspring(pid: int) -> list[int]:
    """Direct children by a look at every process: slower than `children`, and skips none that lives throughout."""
    return [child for child in pids() if (found := stat(child)) is not None and found.ppid == pid]


def start_ticks(monotonic_ns: int) -> int:
    """The start time, in the unit of `Stat.start`, of a process that was started at that monotonic time."""
    asleep = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return (monotonic_ns + asleep) * os.sysconf("SC_CLK_TCK") // 1_000_000_000


def pids() -> list[int]:
    """All processes of this pid namespace."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit()]


def marked(run: str, name: str = RUN_MARK) -> list[int]:
    """Processes that carry the mark of this run, a variable of that name, in their environment."""
    return [pid for pid in pids() if environment(pid).get(name) == run]


def wait_channel(pid: int) -> str:
    """The function of the kernel that a process waits in; empty: it does not wait, or that is hidden."""
    found = (_read(f"/proc/{pid}/wchan", 256) or b"").decode("utf-8", "replace").strip()
    return "" if found == "0" else found


def boot_id() -> str:
    """Random id of this boot of the kernel."""
    return (_read("/proc/sys/kernel/random/boot_id") or b"unknown").decode().strip()


def pid_namespace() -> str:
    """Id of the pid namespace, such as `pid:[4026531836]`."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return "unknown"
