"""CUDA without a GPU: stand-ins for libcuda.so.1, compiled from C, and an interpreter that seems to have torch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.preflight import script

SOURCE = Path(__file__).parent.parent / "fakes" / "fake_cuda.c"
NOTE = r'-DNOTE="{\"Format\":1,\"CUDA Version\":\"12.9\",\"Driver\":[535,550],\"Device\":[1,2]}"'


def library(folder: Path, version: str | None, *definitions: str) -> str:
    """A directory with a libcuda of that version (None: as a stub's, without one in its name)."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler: the stand-in for libcuda cannot be built")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / ("libcuda.so.1" if version is None else f"libcuda.so.{version}")
    words = ["-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", *definitions]
    subprocess.run([compiler, *words, "-o", str(file), str(SOURCE)], check=True)
    if version is not None:
        (folder / "libcuda.so.1").symlink_to(file.name)
    return str(folder)


def packages(folder: Path, **versions: str) -> str:
    """A directory for PYTHONPATH in which these distributions seem to be installed."""
    for name, version in versions.items():
        information = folder / f"{name}-{version}.dist-info"
        information.mkdir(parents=True, exist_ok=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return str(folder)


def torch(folder: Path, cuda: str | None = "12.8", version: str = "2.8.0") -> str:
    """One with torch, built for that CUDA; it cannot be imported."""
    (folder / "torch").mkdir(parents=True, exist_ok=True)
    (folder / "torch/__init__.py").write_text("raise RuntimeError('torch must not be imported')\n")
    (folder / "torch/version.py").write_text(f"__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\n")
    return packages(folder, torch=version)


def python_with_cache(path: Path, *places: str) -> str:
    """An interpreter whose loader finds libraries there after LD_LIBRARY_PATH, as it would through ld.so.cache."""
    behind = ":".join(places)
    return script(
        path, f'#!/bin/sh\nexport LD_LIBRARY_PATH="${{LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}}{behind}"\n'
        f'exec "{sys.executable}" "$@"\n'
    )  # fmt: skip


def module_version(path: Path, version: str) -> str:
    """What /proc/driver/nvidia/version says while the module of that version is loaded."""
    path.write_text(
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Tue Oct 24 23:18:52 UTC 2023\n"
        "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n"
    )
    return str(path)
