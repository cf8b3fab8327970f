"""Run directories: where they are, how one is made, found, checked and locked. Layout: see `RunDirectory`.

A root or run directory that belongs to somebody else, is a symbolic link, or that others may write is refused: what
lies in it would be obeyed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import pwd
import secrets
import shutil
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import RunDirectoryError, SchemaError, UsageError
from grpotui_supervisor.model import run_facts
from grpotui_supervisor.model.wording import near_match

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RUN_SCHEMA = 1
VERL_METRICS = "verl-metrics.jsonl"
"""In the driver's folder: what verl's own file logger writes, where the profile asks for it."""
_ROOM_BYTES = 256 << 10
_ROOM_FILES = 32
"""What a new run must find free: its records before the first heartbeat take 20 KiB and 15 files."""
_MOUNTS = "/proc/self/mounts"
_ELSEWHERE = "set GRPOTUI_HOME to a directory on a local disk that you may write"
_OTHER_DISK = "free some space, or set GRPOTUI_HOME to a directory on another disk"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """One run.

    ```
    run.json                 launch     facts that do not change
    ranks.jsonl              shim       starts, exits, signals
    host.jsonl               monitor    memory and CPU of the ranks, and ends that only it could see
    gpu.jsonl                monitor    the devices, who is on them, and whether each came back after the end
    timeline.jsonl           monitor    size of each log over time
    findings.jsonl           monitor    findings raised and cleared
    ranks/<member>/*.log     the member itself; of a job that was attached to, the monitor
    ranks/<member>/probe-*   the hook in the member's processes, where the profile asks for it
    ranks/driver/verl-metrics.jsonl     verl's file logger, likewise
    control/<id>.json        clients    requests to the shim
    shim.lock, monitor.lock             held while they live
    ```
    """

    path: str

    @property
    def run_id(self) -> str:
        """Name of the directory."""
        return os.path.basename(self.path)

    def file(self, name: str) -> str:
        """Path of a file in it."""
        return f"{self.path}/{name}"

    def log(self, member: str, stream: str) -> str:
        """Path of a member's log; `stream` is `stdout` or `stderr`."""
        return f"{self.path}/ranks/{member}/{stream}.log"

    def facts(self) -> dict[str, Any]:
        """The content of run.json.

        Raises:
            UsageError: there is none, or it cannot be read as one.
            SchemaError: a newer grpotui wrote it.
        """
        try:
            with open(self.file("run.json"), "rb") as file:
                document = json.load(file)
        except FileNotFoundError:
            raise UsageError(f"{self.path} is not a run: it has no run.json") from None
        except OSError as error:
            raise UsageError(f"{self.file('run.json')} cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from error
        self._check_facts(document)
        return dict(document)

    def _check_facts(self, document: object) -> None:
        schema = document.get("schema") if isinstance(document, dict) else None
        if type(schema) is int and schema > RUN_SCHEMA:
            raise SchemaError(
                f"{self.run_id} is a newer grpotui's (schema {schema}, this one reads {RUN_SCHEMA})",
                hint="update grpotui, or use the version that wrote it",
            )
        reason = run_facts.fault(document)
        if reason is not None:
            raise self._damaged(reason)

    def _damaged(self, reason: str) -> UsageError:
        return UsageError(
            f"{self.file('run.json')} is damaged: {reason}",
            hint=f"its records may still be whole: {self.file('ranks.jsonl')}",
        )

    def is_locked(self, name: str) -> bool:
        """Whether the owner of `shim.lock` or `monitor.lock` lives: the kernel drops the lock with its holder."""
        try:
            fd = os.open(self.file(name), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks: not known to live
            return False
        finally:
            os.close(fd)
        return False

    def request(self, what: str, **fields: object) -> str:
        """Puts a request to the shim into `control/`; returns its id. OSError when the disk takes nothing."""
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        temporary = self.file(f"control/.{name}.tmp")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, json.dumps({"what": what, **fields}).encode())
        except OSError:
            os.unlink(temporary)
            raise
        finally:
            os.close(fd)
        os.rename(temporary, self.file(f"control/{name}.json"))
        return name


def root(environment: Mapping[str, str]) -> str:
    """`$GRPOTUI_HOME`, else `$XDG_STATE_HOME/grpotui`, else `~/.local/state/grpotui`.

    Raises:
        UsageError: none of them is set, and the user has no home directory.
    """
    if environment.get("GRPOTUI_HOME"):
        return os.path.abspath(environment["GRPOTUI_HOME"])
    state = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # the specification: a relative one is to be ignored
        state = os.path.join(_home(environment), ".local/state")
    return os.path.join(state, "grpotui")


def _home(environment: Mapping[str, str]) -> str:
    if os.path.isabs(environment.get("HOME", "")):
        return environment["HOME"]
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise UsageError(
            f"there is no place for runs: HOME is not set, and uid {os.getuid()} has no home directory",
            hint=_ELSEWHERE,
        ) from None


def create(root_path: str, name: str, *, now: float | None = None) -> RunDirectory:
    """A new, empty run directory with an id that no other has, `<name>-<date>-<time>-<4 hex digits>`.

    Raises:
        RunDirectoryError: the root is unsafe, read-only or full.
    """
    folder = os.path.join(root_path, "runs")
    make_root(root_path)
    _make_private(folder)
    _check_room(folder)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    for _ in range(64):
        path = os.path.join(folder, f"{name}-{stamp}-{secrets.token_hex(2)}")
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise _unwritable(path, error) from error
        _furnish(path)
        return RunDirectory(path)
    raise RunDirectoryError(f"no free run id under {folder}", hint="try again")


def make_root(root_path: str) -> None:
    """Makes the root, private, unless it is there.

    Raises:
        RunDirectoryError: it is unsafe, or cannot be made.
    """
    try:
        os.makedirs(os.path.dirname(root_path), exist_ok=True)
    except OSError as error:
        raise _unwritable(root_path, error) from error
    _make_private(root_path)


def _make_private(path: str) -> None:
    """Makes the directory unless it is there, and trusts it only then; makedirs would leave its mode to the umask."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise _unwritable(path, error) from error
    check_safe(path)


def _furnish(path: str) -> None:
    try:
        for folder in ("control", "ranks"):
            os.mkdir(f"{path}/{folder}", 0o700)
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise _unwritable(path, error) from error


def _check_room(path: str) -> None:
    """A disk that is full already would take no record of the start: that is said before anything is started."""
    try:
        found = os.statvfs(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    free = found.f_bavail * found.f_frsize
    if found.f_blocks and free < _ROOM_BYTES:  # some network file systems give no numbers
        reason = f"the disk is full: {free >> 10} KiB are free, and the records of a run need {_ROOM_BYTES >> 10}"
        raise RunDirectoryError(f"cannot start a run in {path}: {reason}", hint=_OTHER_DISK)
    if found.f_files and found.f_favail < _ROOM_FILES:
        reason = f"the disk takes only {found.f_favail} more files (inodes), and a run needs {_ROOM_FILES}"
        raise RunDirectoryError(f"cannot start a run in {path}: {reason}", hint=_OTHER_DISK)


def is_full(path: str) -> bool:
    """Whether the disk under a path has no block left for anybody but root."""
    try:
        found = os.statvfs(path)
    except OSError:
        return False
    return found.f_blocks > 0 and found.f_bavail == 0


def _unwritable(path: str, error: OSError) -> RunDirectoryError:
    hint = _OTHER_DISK if error.errno in (errno.ENOSPC, errno.EDQUOT) else _ELSEWHERE
    return RunDirectoryError(f"cannot write {path}: {error.strerror}", hint=hint)


def check_safe(path: str) -> None:
    """Refuses a directory that somebody else could have prepared, or can change.

    Raises:
        RunDirectoryError: a symbolic link, foreign-owned, or writable for group or others.
    """
    try:
        found = os.lstat(path)
    except OSError as error:
        raise RunDirectoryError(f"cannot look at {path}: {error.strerror}", hint=_ELSEWHERE) from error
    hint = "grpotui obeys what lies there, so it must be yours alone; set GRPOTUI_HOME to another directory"
    if stat.S_ISLNK(found.st_mode):
        raise RunDirectoryError(f"{path} is a symbolic link", hint=hint)
    if not stat.S_ISDIR(found.st_mode):
        raise RunDirectoryError(f"{path} is not a directory", hint=hint)
    if found.st_uid != os.geteuid():
        raise RunDirectoryError(f"{path} belongs to uid {found.st_uid}, you are uid {os.geteuid()}", hint=hint)
    if found.st_mode & 0o022:
        raise RunDirectoryError(
            f"{path} can be written by others (mode {stat.S_IMODE(found.st_mode):04o})",
            hint=f"chmod go-w {path}, or set GRPOTUI_HOME to another directory",
        )


def write_facts(directory: RunDirectory, document: Mapping[str, object]) -> None:
    """Writes run.json whole, and with it makes the directory a run; if it cannot, the directory is removed again.

    Raises:
        RunDirectoryError: the disk does not take it.
    """
    temporary = directory.file(".run.json.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            json.dump(_finite(document), file, indent=1)
            file.write("\n")
        os.rename(temporary, directory.file("run.json"))
    except OSError as error:
        shutil.rmtree(directory.path, ignore_errors=True)
        raise _unwritable(directory.file("run.json"), error) from error


def _finite(value: object) -> object:
    """The value with nan and inf, which a profile may hold and JSON may not, as the strings that stand for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def runs(root_path: str) -> Iterator[RunDirectory]:
    """The runs under a root, newest first. A root that does not exist has none.

    Raises:
        RunDirectoryError: the root is unsafe, or cannot be read.
    """
    folder = os.path.join(root_path, "runs")
    for path in (root_path, folder):
        if not _exists(path):
            return
        check_safe(path)
    try:
        paths = [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        raise RunDirectoryError(f"cannot list {folder}: {error.strerror}", hint=_ELSEWHERE) from error
    began = [(moment, path) for path in paths if (moment := _began_ns(path)) is not None]
    for _, path in sorted(began, reverse=True):
        yield RunDirectory(path)


def _exists(path: str) -> bool:
    """Also true where it cannot be told: that is an error to show, and not the absence of runs."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _began_ns(path: str) -> int | None:
    """When run.json was written, which is done once; None for a directory without one."""
    try:
        return os.stat(f"{path}/run.json").st_mtime_ns
    except OSError:
        return None


def find(word: str, root_path: str) -> RunDirectory:
    """The run that a word means: a directory, a run id, or a unique beginning of one.

    Raises:
        UsageError: none or several fit, or the directory is not a run.
    """
    if os.sep in word or (os.path.isdir(word) and os.path.exists(os.path.join(word, "run.json"))):
        directory = RunDirectory(os.path.realpath(word))
        if not os.path.isdir(directory.path):
            raise UsageError(f"there is no run directory {word}")
        directory.facts()
        return directory
    known = list(runs(root_path))
    fitting = [run for run in known if run.run_id == word] or [run for run in known if run.run_id.startswith(word)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = "\n".join(run.run_id for run in fitting[:10]) + ("\n…" if len(fitting) > 10 else "")
        raise UsageError(f"{word!r} fits {len(fitting)} runs:\n{names}", hint="give more of the id")
    folder = os.path.join(root_path, "runs")
    raise UsageError(f"no run {word!r} in {folder}", hint=_known_hint(word, [run.run_id for run in known]))


def _known_hint(word: str, ids: list[str]) -> str:
    if not ids:
        return "there is none yet: grpotui launch demo"
    near = near_match(word, ids)
    listed = "1 run is there" if len(ids) == 1 else f"{len(ids)} runs are there"
    return (f"did you mean {near}? " if near else "") + f"{listed}: grpotui runs"


def latest(root_path: str) -> RunDirectory:
    """The newest run.

    Raises:
        UsageError: there is none.
    """
    for directory in runs(root_path):
        return directory
    raise UsageError(f"there is no run in {os.path.join(root_path, 'runs')}", hint="start one: grpotui launch demo")


def is_network_file_system(path: str) -> str | None:
    """The type of the file system when it is a network one, on which locks and appends may not hold."""
    best, kind = "", ""
    try:
        with open(_MOUNTS, encoding="utf-8", errors="replace") as file:
            for line in file:
                _, point, found, *_ = line.split(" ")
                inside = path == point or path.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, found
    except (OSError, ValueError):
        return None
    networked = kind.startswith(("nfs", "cifs", "smb", "9p", "lustre", "gpfs", "ceph", "beegfs", "fuse.", "afs"))
    return kind if networked else None
