"""The facts of a run that do not change: what run.json holds besides the plan itself."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil

from grpotui_supervisor import __version__
from grpotui_supervisor.model import redact
from grpotui_supervisor.rundir import RUN_SCHEMA
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grpotui_supervisor.profiles import LoadedProfile
    from grpotui_supervisor.rundir import RunDirectory

_GIT_SECONDS = 1.0


def collect(
    directory: RunDirectory, loaded: LoadedProfile, environment: Mapping[str, str], *, cwd: str, secrets: Iterable[str]
) -> dict[str, Any]:
    """Everything about the run but its processes; no secret of the environment, an argument or a URL is in it."""
    known = list(secrets)
    kept, names = redact.environment(environment, known)
    return {
        "schema": RUN_SCHEMA,
        "run": directory.run_id,
        "directory": directory.path,
        "inode": os.stat(directory.path).st_ino,
        "node": "node-0",
        "host": host(),
        "versions": {"grpotui": __version__, "grpotui_python": platform.python_version()},
        "command": redact.arguments(sys.argv, known),
        "cwd": cwd,
        "git": git_state(cwd),
        "profile": _plain(dataclasses.asdict(loaded.profile), known),
        "profile_path": loaded.path,
        "profile_sha256": hashlib.sha256(loaded.source.encode()).hexdigest(),
        "environment": kept,
        "environment_names": names,
    }


def host() -> dict[str, Any]:
    """This machine, and the names under which its processes are identified."""
    return {
        "hostname": socket.gethostname(),
        "boot": procfs.boot_id(),
        "pidns": procfs.pid_namespace(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
    }


def git_state(folder: str) -> dict[str, Any]:
    """Commit, branch and whether the work tree of a folder has changes; or why that cannot be said."""
    try:
        head = _git(folder, "rev-parse", "HEAD")
        branch = _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    except (OSError, subprocess.SubprocessError) as error:
        return {"unavailable": _reason(error)}
    try:
        changed: int | None = len(_git(folder, "status", "--porcelain").splitlines())
    except (OSError, subprocess.SubprocessError):
        changed = None  # a large tree on a slow disk: unknown, and no reason to wait
    return {"commit": head, "branch": branch, "changed_files": changed}


def _git(folder: str, *words: str) -> str:
    command = ["git", "-C", folder, "--no-optional-locks", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True)
    return done.stdout.strip()


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "git is not installed"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"git did not answer within {_GIT_SECONDS:g} s"
    return "not a git work tree with a commit"


def _plain(value: object, secrets: list[str], name: str = "") -> Any:  # noqa: ANN401  (JSON)
    """A profile's value as JSON, with secrets masked by the name of their key and by their text."""
    if name and redact.is_secret_name(name) and isinstance(value, (str, int)) and not isinstance(value, bool):
        return redact.MASK
    if isinstance(value, dict):
        return {key: _plain(item, secrets, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        words = [_plain(item, secrets, name) for item in value]
        return redact.arguments(words, secrets) if words and all(isinstance(w, str) for w in words) else words
    if isinstance(value, str):
        return redact.text(value, secrets)
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
