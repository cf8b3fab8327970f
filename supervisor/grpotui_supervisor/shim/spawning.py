"""Starting members: the intent goes on record first, then the process, then its pid and start time.

`posix_spawn` with a new session, an empty signal mask and default dispositions: what an unknown launcher left blocked
or ignored must not reach the ranks. Logs are files opened with O_APPEND: a reader that dies or stalls cannot hurt a
rank, as it could through a pipe or a pty.
"""

from __future__ import annotations

import errno
import os

from grpotui_supervisor.shim import control, kernel, procfs, stopping
from grpotui_supervisor.shim.members import Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpotui_supervisor.shim.job import Job
    from grpotui_supervisor.shim.specification import Start

_LOG = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


def spawn_all(job: Job, starts: list[Start]) -> None:
    """Starts companions and ranks in order; the first that cannot be started, or a stop, ends the attempt."""
    left = list(starts)
    while left:
        control.obey(job)
        if job.stopping.asked or job.stopping.failed_m is not None:
            break
        _spawn(job, left.pop(0))
    job.journal.add("spawn_done", not_started=[start.member for start in left])


def _spawn(job: Job, start: Start) -> None:
    intent = job.journal.add("spawning", member=start.member, rank=start.rank, role=start.role)
    if not job.journal.is_written(intent):  # a process that is on no record could be lost without a trace
        _failed(job, start, OSError(errno.ENOSPC, "the run directory takes no record of it"))
        return
    try:
        pid = _start_process(job, start)
    except Exception as error:  # noqa: BLE001  (whatever it is, the group must not be left half started)
        _failed(job, start, error)
    else:
        spawned(job, Member(start.member, pid, 0, rank=start.rank, role=start.role))


def spawned(job: Job, member: Member, **more: object) -> None:
    """Records a started process and begins to watch it."""
    found = procfs.stat(member.pid)  # ours and unreaped, so it is there even if it has died
    member.start = found.start if found else 0
    job.journal.add("spawned", **member.named(), owned=True, **more)
    job.watch(member)


def abandon(job: Job, error: Exception) -> None:
    """The shim itself cannot work here: nothing is started, and the record says why."""
    if job.spec.starts:
        _failed(job, job.spec.starts[0], error)
    job.journal.add("spawn_done", not_started=[start.member for start in job.spec.starts[1:]])


def _failed(job: Job, start: Start, error: Exception) -> None:
    number = error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
    text = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
    what = {"errno": number, "error": text, "path": getattr(error, "filename", None)}
    member = Member(start.member, 0, 0, rank=start.rank, role=start.role)
    job.journal.add("spawn_failed", member=start.member, rank=start.rank, role=start.role, **what)
    stopping.fail(job, member, {"how": "failed_to_start", **what}, grace=0)


def _start_process(job: Job, start: Start) -> int:
    env = {**job.spec.env, **start.env}
    folder = f"{job.directory}/ranks/{start.member}"
    os.makedirs(folder, 0o700, exist_ok=True)
    logs: list[int] = []
    try:
        logs.extend(os.open(f"{folder}/{name}.log", _LOG, 0o600) for name in ("stdout", "stderr"))
        os.chdir(start.cwd)
        executable = find_executable(start.argv[0], env.get("PATH", os.defpath))
        return os.posix_spawn(
            executable,
            start.argv,
            env,
            setsid=True,
            setsigmask=[],
            setsigdef=kernel.RESETTABLE,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, logs[0], 1),
                (os.POSIX_SPAWN_DUP2, logs[1], 2),
            ],
        )
    finally:
        os.chdir("/")  # never keep the job's file system busy
        for fd in logs:
            os.close(fd)


def find_executable(word: str, path: str) -> str:
    """Looks a command up as execvp does, in the job's PATH and not in ours.

    Raises:
        FileNotFoundError: it is nowhere on the PATH, or the named file is not there.
        PermissionError: it was found, but may not be executed.
    """
    if "/" in word:
        if not os.path.exists(word):
            raise FileNotFoundError(errno.ENOENT, "no such file", word)
        if not _executable(word):
            raise PermissionError(errno.EACCES, "it may not be executed", word)
        return word
    seen = None
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder or ".", word)
        if _executable(candidate):
            return candidate
        seen = candidate if os.path.isfile(candidate) else seen
    if seen:
        raise PermissionError(errno.EACCES, "it may not be executed", seen)
    raise FileNotFoundError(errno.ENOENT, "not found on PATH", word)


def _executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
