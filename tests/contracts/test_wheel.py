"""What is installed: both packages, the profiles with their trainers, the schemas, and nothing else."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import grpotui_supervisor

CHECKOUT = Path(grpotui_supervisor.__file__).parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    if not (CHECKOUT / "pyproject.toml").exists():
        pytest.skip("these tests do not run from a checkout")
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed here: pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    done = subprocess.run([*command, str(CHECKOUT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("grpotui-*.whl")
    return zipfile.ZipFile(path)


def test_it_holds_all_that_the_program_reads(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for path in (CHECKOUT / "profiles").iterdir():
        if path.is_file():
            assert f"grpotui_supervisor/_profiles/{path.name}" in names
    for package in (CHECKOUT / "grpotui", CHECKOUT / "supervisor/grpotui_supervisor"):
        for path in package.rglob("*"):
            if path.is_file() and path.suffix in (".py", ".json", ".typed"):
                assert str(path.relative_to(package.parent)) in names


def test_it_installs_under_two_names_only(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"grpotui", "grpotui_supervisor"}
    assert not [name for name in wheel.namelist() if "__pycache__" in name or "cache" in name.split("/")[0]]
