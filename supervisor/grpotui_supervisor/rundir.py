"""Run directories: where they are, how one is made, found, checked and locked. Layout: see `RunDirectory`.

A root or run directory that belongs to somebody else, is a symbolic link, or that others may write is refused: what
lies in it would be obeyed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import RunDirectoryError, SchemaError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RUN_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """One run.

    ```
    run.json                 launch     facts that do not change
    ranks.jsonl              shim       starts, exits, signals
    host.jsonl               monitor    memory and CPU of the ranks, and ends that only it could see
    timeline.jsonl           monitor    size of each log over time
    findings.jsonl           monitor    findings raised and cleared
    ranks/<member>/*.log     the member itself
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
        except ValueError as error:
            raise UsageError(f"{self.file('run.json')} is damaged: {error}") from error
        if not isinstance(document, dict) or not isinstance(document.get("schema"), int):
            raise UsageError(f"{self.file('run.json')} is not a run's: it has no schema number")
        if document["schema"] > RUN_SCHEMA:
            raise SchemaError(
                f"{self.run_id} is a newer grpotui's (schema {document['schema']}, this one reads {RUN_SCHEMA})",
                hint="update grpotui, or use the version that wrote it",
            )
        return document

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
    """`$GRPOTUI_HOME`, else `$XDG_STATE_HOME/grpotui`, else `~/.local/state/grpotui`."""
    if environment.get("GRPOTUI_HOME"):
        return os.path.abspath(environment["GRPOTUI_HOME"])
    state = environment.get("XDG_STATE_HOME") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".local/state"
    )
    return os.path.join(os.path.abspath(state), "grpotui")


def create(root_path: str, name: str, *, now: float | None = None) -> RunDirectory:
    """A new, empty run directory with an id that no other has, `<name>-<date>-<time>-<4 hex digits>`.

    Raises:
        RunDirectoryError: the root is unsafe, read-only or full.
    """
    runs = os.path.join(root_path, "runs")
    try:
        os.makedirs(runs, 0o700, exist_ok=True)
    except OSError as error:
        raise _unwritable(runs, error) from error
    for path in (root_path, runs):
        check_safe(path)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    for _ in range(64):
        path = os.path.join(runs, f"{name}-{stamp}-{secrets.token_hex(2)}")
        try:
            os.mkdir(path, 0o700)
            for folder in ("control", "ranks"):
                os.mkdir(f"{path}/{folder}", 0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise _unwritable(path, error) from error
        return RunDirectory(path)
    raise RunDirectoryError(f"no free run id under {runs}", hint="try again")


def _unwritable(path: str, error: OSError) -> RunDirectoryError:
    hint = "set GRPOTUI_HOME to a directory that can be written, on a local disk"
    if error.errno == errno.ENOSPC:
        hint = "free some space, or set GRPOTUI_HOME to a directory on another disk"
    return RunDirectoryError(f"cannot write {path}: {error.strerror}", hint=hint)


def check_safe(path: str) -> None:
    """Refuses a directory that somebody else could have prepared, or can change.

    Raises:
        RunDirectoryError: a symbolic link, foreign-owned, or writable for group or others.
    """
    try:
        found = os.lstat(path)
    except OSError as error:
        raise RunDirectoryError(f"cannot look at {path}: {error.strerror}") from error
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
    """Writes run.json whole or not at all.

    Raises:
        RunDirectoryError: the disk does not take it.
    """
    temporary = directory.file(".run.json.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        os.rename(temporary, directory.file("run.json"))
    except OSError as error:
        raise _unwritable(directory.file("run.json"), error) from error


def runs(root_path: str) -> Iterator[RunDirectory]:
    """The runs under a root, newest first. A root that does not exist has none."""
    folder = os.path.join(root_path, "runs")
    if not os.path.lexists(folder):
        return
    for path in (root_path, folder):
        check_safe(path)
    entries = [
        e for e in os.scandir(folder) if e.is_dir(follow_symlinks=False) and os.path.exists(f"{e.path}/run.json")
    ]
    for entry in sorted(entries, key=lambda e: (e.stat().st_ctime_ns, e.name), reverse=True):
        yield RunDirectory(entry.path)


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
        names = "\n  ".join(run.run_id for run in fitting[:10])
        raise UsageError(f"{word!r} fits {len(fitting)} runs:\n  {names}", hint="give more of the id")
    raise UsageError(
        f"no run {word!r} under {os.path.join(root_path, 'runs')}", hint=f"{len(known)} runs there: grpotui runs"
    )


def latest(root_path: str) -> RunDirectory:
    """The newest run.

    Raises:
        UsageError: there is none.
    """
    for directory in runs(root_path):
        return directory
    raise UsageError(f"there is no run under {os.path.join(root_path, 'runs')}", hint="start one: grpotui launch demo")


def is_network_file_system(path: str) -> str | None:
    """The type of the file system when it is a network one, on which locks and appends may not hold."""
    best, kind = "", ""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            for line in file:
                _, point, found, *_ = line.split(" ")
                inside = path == point or path.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, found
    except (OSError, ValueError):
        return None
    networked = kind.startswith(("nfs", "cifs", "smb", "9p", "lustre", "gpfs", "ceph", "beegfs", "fuse.", "afs"))
    return kind if networked else None
