"""Following a job that grpotui did not start: a run directory for it, and a monitor that copies its logs.

No shim: nothing of the job is owned, and nothing is ever signalled.
"""

from __future__ import annotations

import os
import platform
import re
import stat
import sys
import time
from typing import TYPE_CHECKING, Any

from grpotui_supervisor import __version__, facts, rundir, supervisors
from grpotui_supervisor.errors import StartError, UsageError
from grpotui_supervisor.logs import reader_for
from grpotui_supervisor.model import redact
from grpotui_supervisor.model.log_names import LogPlace, places
from grpotui_supervisor.monitor.attached import QUIET_SECONDS
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.source.blocks import Blocks, is_packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grpotui_supervisor.rundir import RunDirectory

_READY_SECONDS = 10.0
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def start(
    logs: Sequence[str],
    *,
    pid: int | None,
    framework: str,
    environment: Mapping[str, str],
    quiet_seconds: float = QUIET_SECONDS,
) -> RunDirectory:
    """Makes the run directory and starts the monitor, which begins to copy the logs.

    Raises:
        UsageError: a log cannot be followed, the process cannot be watched, or the framework is not known.
        RunDirectoryError: the state directory is unsafe, read-only or full.
        StartError: the monitor did not come up.
    """
    if framework != "auto" and reader_for(framework) is None:
        raise UsageError(f"no reader for the framework {framework!r}", hint="leave it out: it is recognised by its log")
    found = places(_checked(logs))
    process = None if pid is None else _process(pid, environment)
    stem = _UNSAFE.sub("-", os.path.basename(found[0].path).partition(".")[0]).strip("-")[:40] or "log"
    directory = rundir.create(rundir.root(environment), f"attached-{stem}")
    document = _document(directory, found, process, framework, environment)
    document["attached"]["quiet_seconds"] = quiet_seconds
    for log in document["attached"]["logs"]:
        os.makedirs(directory.file(f"ranks/{log['member']}"), mode=0o700, exist_ok=True)
    rundir.write_facts(directory, document)
    supervisors.start_monitor(directory)
    _wait_for_monitor(directory)
    return directory


def _wait_for_monitor(directory: RunDirectory) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not os.path.exists(directory.file("host.jsonl")):
        if time.monotonic() > deadline:
            raise StartError(
                f"the monitor of {directory.run_id} did not come up", hint=f"see {directory.file('monitor.err')}"
            )
        time.sleep(0.005)


def _checked(logs: Iterable[str]) -> list[str]:
    """Absolute paths, each once."""
    found: dict[str, str] = {}
    for word in logs:
        path = os.path.abspath(word)
        _check(word, path)
        same = os.path.realpath(path)
        if same in found:
            raise UsageError(f"{word} is given twice: it is the same file as {found[same]}")
        found[same] = path
    return list(found.values())


def _check(word: str, path: str) -> None:
    if word == "-":
        raise UsageError("standard input has one reader only", hint="cmd | tee train.log, and attach to that")
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(path)):
            raise UsageError(f"there is no folder {os.path.dirname(path)}", hint="is the path right?") from None
        return  # it is waited for
    except OSError as error:
        raise UsageError(f"{word} cannot be looked at: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise UsageError(f"{word} is a directory", hint="name the log files in it: --log A --log B")
    if not stat.S_ISREG(mode):
        raise UsageError(
            f"{word} is no regular file: what is read from it, its other reader loses",
            hint="write to a file as well (tee train.log), and attach to that",
        )
    if not os.access(path, os.R_OK):
        raise UsageError(f"{word} cannot be read: {os.strerror(13)}")
    next(iter(Blocks(path)), None)  # a compression without its library is told now


def _process(pid: int, environment: Mapping[str, str]) -> dict[str, Any]:
    """The identity of the process, and what it shows of itself, without secrets.

    Raises:
        UsageError: there is no such process, or it cannot be watched.
    """
    found = procfs.stat(pid)
    if found is None or found.has_ended:
        what = "has ended already" if found else "does not exist"
        raise UsageError(f"the process {pid} {what}", hint="without --pid its logs alone are followed")
    if procfs.is_kernel_thread(pid):
        raise UsageError(f"{pid} ({found.name}) is a thread of the kernel, no job")
    if procfs.thread_group(pid) not in (pid, None):
        raise UsageError(f"{pid} is a thread of the process {procfs.thread_group(pid)}", hint="name the process")
    owner = os.stat(f"/proc/{pid}").st_uid
    if os.geteuid() not in (owner, 0):
        raise UsageError(f"the process {pid} belongs to uid {owner}, you are uid {os.geteuid()}")
    own = procfs.environment(pid)
    words = [word.decode("utf-8", "replace") for word in procfs.command_line(pid).split(b"\0")[:-1]]
    secrets = redact.secret_values({**environment, **own}, redact.secret_arguments(words))
    kept, names = redact.environment(own, secrets)
    rank = own.get("RANK", "")
    return {
        "pid": pid,
        "start": found.start,
        "argv": redact.arguments(words, secrets),
        "cwd": _cwd(pid),
        "environment": kept,
        "environment_names": names,
        "rank": int(rank) if re.fullmatch(r"[0-9]{1,6}", rank) else None,
    }


def _cwd(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None


def _document(
    directory: RunDirectory, logs: list[LogPlace], process: dict[str, Any] | None, framework: str,
    environment: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    members = {log.member: {"member": log.member, "rank": log.rank, "role": "log"} for log in logs}
    names = {member: member for member in members}
    if process is not None:
        watched, replaced = _watched(process, list(members.values()))
        names = {member: watched["member"] if member == replaced else member for member in members}
        members = {names[key]: watched if key == replaced else member for key, member in members.items()}
        members = {watched["member"]: watched, **members}
    folder = process["cwd"] if process else None
    secrets = redact.secret_values(environment)
    return {
        "schema": rundir.RUN_SCHEMA,
        "run": directory.run_id,
        "directory": directory.path,
        "inode": os.stat(directory.path).st_ino,
        "node": "node-0",
        "host": facts.host(),
        "versions": {"grpotui": __version__, "grpotui_python": platform.python_version()},
        "command": redact.arguments(sys.argv, secrets),
        "cwd": folder,
        "git": facts.git_state(folder) if folder else {"unavailable": "the job was not started by grpotui"},
        "profile": {"name": directory.run_id.rsplit("-", 3)[0], "framework": framework},
        "environment": process["environment"] if process else None,
        "environment_names": process["environment_names"] if process else None,
        "gpus": None,
        "gpu_unavailable": "an attached job: no idle baseline could be taken",
        "wrapped": False,
        "attached": {"logs": [_log(log, names[log.member]) for log in logs]},
        "metrics_members": _metrics_order([names[log.member] for log in logs]),
        "members": list(members.values()),
    }


def _log(log: LogPlace, member: str) -> dict[str, Any]:
    return {"path": log.path, "member": member, "stream": log.stream, "packed": is_packed(log.path)}


def _watched(process: Mapping[str, Any], members: list[dict[str, Any]]) -> tuple[dict[str, Any], str | None]:
    """The member that the process is, and the name it had from its log: a single log is the process's own.

    Of several logs one is, if it is of the rank that the process was started as.
    """
    own = members[0] if len(members) == 1 else None
    rank = process["rank"]
    own = own or next((m for m in members if rank is not None and m["rank"] == rank), None)
    if own is not None and own["rank"] is not None:
        rank = own["rank"]
    if own is None:
        rank = None
    named = {
        "member": "driver" if rank is None else str(rank),
        "rank": rank,
        "role": "driver" if rank is None else "rank",
    }
    identity = {key: process[key] for key in ("pid", "start", "argv", "cwd")}
    return {**named, **identity}, own["member"] if own else None


def _metrics_order(members: list[str]) -> list[str]:
    """Rank 0 first, since it prints the metrics in most frameworks; the others as given."""
    return sorted(dict.fromkeys(members), key=lambda member: member != "0")
