"""Which interpreter trains: what a profile says of it, and what only its command does."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from support.preflight import job, script

from grpotui_supervisor.launch import prepare
from grpotui_supervisor.preflight.jobs import job_of
from grpotui_supervisor.profiles import load_profile

if TYPE_CHECKING:
    from pathlib import Path


def words(folder: Path, *argv: str, python: tuple[str, ...] = ("python",)) -> tuple[tuple[str, ...], bool]:
    """The words of the interpreter, and whether they are in doubt."""
    found = job(folder, python=python, launch=f'mode = "command"\nargv = {json.dumps(argv)}')
    return found.python, found.python_doubt is not None


def test_the_profile_s_own(tmp_path: Path) -> None:
    own = ("uv", "run", "--frozen", "python")
    assert words(tmp_path, "torchrun", "{python}", "t.py", python=own) == (own, False)
    assert words(tmp_path, "bash", "run.sh", python=own) == (own, False)
    assert words(tmp_path, "bash", "run.sh") == (("python",), True)


def test_the_command_s(tmp_path: Path) -> None:
    assert words(tmp_path, "python3.12", "-m", "verl.trainer.main_ppo") == (("python3.12",), False)
    verl = ("uv", "run", "--frozen", "--project", "{profile_dir}", "/x/bin/python3", "-m", "verl.trainer.main_ppo")
    found, _ = words(tmp_path, *verl)
    assert found == ("uv", "run", "--frozen", "--project", str(tmp_path), "/x/bin/python3")
    assert words(tmp_path, "{grpotui_python}", "t.py") == ((sys.executable,), False)
    assert words(tmp_path, "{wrapper}", "python", "t.py") == (("python",), False)


def test_a_launcher_does_not_lead_to_it(tmp_path: Path) -> None:
    """It would start as many as there are ranks."""
    wrapped = ("torchrun", "--no-python", "--nproc-per-node=8", "{wrapper}", "/x/bin/python", "t.py")
    assert words(tmp_path, *wrapped) == (("/x/bin/python",), False)
    assert words(tmp_path, "srun", "-n", "8", "python3", "t.py") == (("python3",), False)
    assert words(tmp_path, "numactl", "-N", "0", "python", "t.py") == (("numactl", "-N", "0", "python"), False)
    assert words(tmp_path, "docker", "run", "image", "python", "t.py") == (("python",), True)
    inside = ("docker", "exec", "-i", "box", "python")
    assert words(tmp_path, "{python}", "t.py", python=inside) == (inside, True)


def test_that_of_the_script_that_is_started(tmp_path: Path) -> None:
    started = script(tmp_path / "torchrun", "#!/opt/rl/bin/python3.10\nimport torch\n")
    assert words(tmp_path, started, "t.py") == (("/opt/rl/bin/python3.10",), False)
    started = script(tmp_path / "accelerate", "#!/usr/bin/env python3\n")
    assert words(tmp_path, started, "t.py") == (("python3",), False)
    started = script(tmp_path / "run.sh", "#!/bin/bash\n")
    assert words(tmp_path, started, "t.py") == (("python",), True)


def test_folder_and_environment_are_the_job_s(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    path = tmp_path / "p.toml"
    path.write_text(
        'name = "p"\n[launch]\nmode = "command"\nargv = ["python", "t.py"]\ncwd = "work"\nenv = {A = "1"}\n'
        '[companions.judge]\nargv = ["true"]\n'
    )
    loaded = load_profile(str(path))
    found = job_of(loaded, prepare(loaded, {"B": "2"}, cwd="/"))
    assert found.cwd == str(tmp_path / "work")
    assert (found.environment["A"], found.environment["B"]) == ("1", "2")
    assert "RANK" not in found.environment
