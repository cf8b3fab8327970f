"""Jobs for the checks: a profile's text becomes what `launch` would start.

`python -m support.preflight_jobs` runs one check in a process of its own: the stand-in for NVML is read at start-up.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpotui_supervisor import launch
from grpotui_supervisor.model.placeholders import expand
from grpotui_supervisor.preflight.check import Job, Result
from grpotui_supervisor.profiles import load_profile

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

VERL = ("-m", "verl.trainer.main_ppo")
RANKS = 'mode = "ranks"\nnproc = %d'


def job_of(
    folder: Path,
    *words: str,
    more: str = "",
    mode: str = 'mode = "command"',
    env: Mapping[str, str] | None = None,
    python: str = sys.executable,
    stopping: threading.Event | None = None,
) -> Job:
    """`words`: behind the interpreter; `more`: further lines of the profile; `env`: on top of this process's."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "p.toml"
    argv = json.dumps(["{python}", *words])
    path.write_text(f'name = "p"\n[launch]\n{mode}\npython = {json.dumps(python)}\nargv = {argv}\n{more}\n')
    loaded = load_profile(str(path))
    environment = {**os.environ, "GRPOTUI_HOME": str(folder / "home"), **(env or {})}
    plan = launch.prepare(loaded, environment, cwd=str(folder))
    filled = {"grpotui_python": (sys.executable,), "profile_dir": (str(folder),)}
    return Job(
        loaded=loaded,
        plan=plan,
        python=expand(loaded.profile.launch.python, filled),
        environment=plan.environment,
        cwd=str(folder),
        stopping=stopping,
    )


def result_in_child(check: str, folder: Path, *words: str, env: Mapping[str, str], **more: Any) -> Result:
    """What the check of that file says where these variables are set from the start."""
    told = json.dumps({"check": check, "folder": str(folder), "words": words, "more": more})
    done = subprocess.run(
        [sys.executable, "-m", "support.preflight_jobs", told],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return Result(**{**found, "details": tuple(found["details"])})


def main(told: dict[str, Any]) -> None:
    job = job_of(Path(told["folder"]), *told["words"], **told["more"])
    check = importlib.import_module(f"grpotui_supervisor.preflight.{told['check']}").CHECK
    print(json.dumps(dataclasses.asdict(check.run(job))))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
