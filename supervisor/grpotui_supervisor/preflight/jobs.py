"""What is checked, out of a profile and its plan: above all, which interpreter trains."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.model.placeholders import expand
from grpotui_supervisor.preflight.check import Job

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from grpotui_supervisor.launch import Plan
    from grpotui_supervisor.profiles import LoadedProfile

_PYTHON: Final = re.compile(r"python\d*(\.\d+)?t?")
_DEFAULT: Final = ("python",)
_LEADING: Final = frozenset({
    "uv", "conda", "mamba", "micromamba", "poetry", "pixi", "pipenv", "hatch", "rye", "env", "nice", "ionice", "nohup",
    "stdbuf", "numactl", "taskset", "apptainer", "singularity",
})  # fmt: skip
"""Words before an interpreter that lead to it and start it once; of `srun` or `torchrun` it alone counts."""
_ELSEWHERE: Final = frozenset({"docker", "podman", "nerdctl", "kubectl", "ssh", "enroot", "modal"})
"""What is started through them is not ended with them."""
_DOUBT: Final = "the profile does not say which interpreter trains; set launch.python, and {python} in launch.argv"


def job_of(
    loaded: LoadedProfile,
    plan: Plan,
    *,
    on_request: frozenset[str] = frozenset(),
    stopping: threading.Event | None = None,
) -> Job:
    """The job as `launch` would start it."""
    python, doubt = _interpreter(loaded, plan)
    own = next(start for start in plan.starts if start.role != "companion")
    return Job(
        loaded=loaded,
        plan=plan,
        python=python,
        python_doubt=doubt,
        environment=plan.environment,
        cwd=own.cwd,
        on_request=on_request,
        stopping=stopping,
    )


def _interpreter(loaded: LoadedProfile, plan: Plan) -> tuple[tuple[str, ...], str | None]:
    """Its words, and a doubt: from the command itself, else from the script that it starts, else from the profile."""
    launch = loaded.profile.launch
    argv, default = launch.argv, expand(launch.python, plan.words)
    own = any("{python}" in word for word in argv)
    elsewhere = _ELSEWHERE & {os.path.basename(word) for word in (launch.python if own else argv)}
    if elsewhere:
        return default, f"it is started through {min(elsewhere)}, where nothing can be tried and surely ended"
    if own:
        return default, None
    for at, word in enumerate(argv):
        if word == "{grpotui_python}" or _is_python(word):
            leads = os.path.basename(argv[0]) in _LEADING
            return expand(argv[: at + 1] if leads else (word,), plan.words), None
    first = expand(argv[:1], plan.words)[0]
    script = _of_script(first, plan.environment)
    if script is not None:
        return script, None
    return default, None if launch.python != _DEFAULT else _DOUBT


def _is_python(word: str) -> bool:
    return _PYTHON.fullmatch(os.path.basename(word)) is not None


def _of_script(word: str, environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """The interpreter that the first line of `torchrun`, `accelerate`, `deepspeed` names."""
    path = shutil.which(word, path=environment.get("PATH"))
    try:
        with open(path or "", "rb") as file:
            line = file.readline(4096).decode("utf-8", "replace")
    except OSError:
        return None
    words: Sequence[str] = line[2:].split() if line.startswith("#!") else ()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    return (words[0],) if words and _is_python(words[0]) else None
