"""A job to check, out of a profile that a test writes; and what is still there of what a check started."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from grpotui_supervisor.launch import prepare
from grpotui_supervisor.preflight.child import MARK
from grpotui_supervisor.preflight.jobs import job_of
from grpotui_supervisor.profiles import load_profile
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from grpotui_supervisor.preflight.check import Job

RANKS = 'mode = "ranks"\nnproc = {nproc}\nargv = ["{{python}}", "train.py"]'


def job(
    folder: Path,
    *,
    python: Sequence[str] = (sys.executable,),
    env: Mapping[str, str | None] | None = None,
    nproc: int = 2,
    launch: str | None = None,
    more: str = "",
    on_request: frozenset[str] = frozenset(),
    stopping: threading.Event | None = None,
) -> Job:
    """`env`: on top of this process's; None takes a variable away."""
    words = ", ".join(f'"{word}"' for word in python)
    path = folder / "job.toml"
    path.write_text(f'name = "job"\n[launch]\npython = [{words}]\n{launch or RANKS.format(nproc=nproc)}\n{more}\n')
    own = {key: value for key, value in {**os.environ, **(env or {})}.items() if value is not None}
    loaded = load_profile(str(path))
    plan = prepare(loaded, own, cwd=str(folder))
    return job_of(loaded, plan, on_request=on_request, stopping=stopping)


def left_behind() -> dict[int, bytes]:
    """Living processes that any check started, with their command lines."""
    found = {}
    for pid in procfs.pids():
        if procfs.environment(pid).get(MARK, "").startswith(f"{os.getpid()}-") and procfs.is_running(pid):
            found[pid] = procfs.command_line(pid)
    return found


def script(path: Path, text: str) -> str:
    """An executable file."""
    path.write_text(text)
    path.chmod(0o755)
    return str(path)
