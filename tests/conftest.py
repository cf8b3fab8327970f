"""Fixtures of all tests."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest
from support.runs import Home, ShimRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# What lives as long as its process (records, followed logs) is not closed by the hundreds of tests that make it.
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A state root of the test's own; everything that was launched in it is ended afterwards."""
    found = Home(tmp_path / "home")
    yield found
    found.clean()


@pytest.fixture
def shim(tmp_path: Path) -> Iterator[ShimRun]:
    """A run directory for a shim that the test starts itself."""
    found = ShimRun(tmp_path / "run", run=f"test-{tmp_path.name}-{id(tmp_path):x}")
    yield found
    found.clean()
