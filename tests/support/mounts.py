"""Small file systems for tests: full ones, read-only ones."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def tmpfs(point: Path, options: str) -> Iterator[Path]:
    """A tmpfs at that path, made for it; without the right to mount the test is skipped."""
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"{options},mode=0700", "none", str(point)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root and the right to")
    try:
        yield point
    finally:
        wait_until(lambda: not subprocess.run(["umount", point], check=False, capture_output=True).returncode)
