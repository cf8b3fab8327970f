"""A real memory cgroup below our own, where this machine lets us make one."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from grpotui_supervisor import cgroup
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMITS = {"v1": "memory.limit_in_bytes", "v2": "memory.max"}


@contextmanager
def memory_group(limit: int) -> Iterator[list[str]]:
    """Words in front of a command that run it in a cgroup with that limit; the test is skipped where none can be made.

    The processes in it must have ended at the end.
    """
    own = cgroup.find(os.getpid())
    if isinstance(own, str):
        pytest.skip(f"no memory cgroup here: {own}")
    folder = os.path.join(own.folder, f"grpotui-test-{os.getpid()}")
    try:
        os.mkdir(folder)
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error.strerror}")
    try:
        try:
            with open(os.path.join(folder, _LIMITS[own.version]), "w", encoding="ascii") as file:
                file.write(str(limit))
        except OSError as error:
            pytest.skip(f"a cgroup here takes no limit: {error.strerror}")
        yield ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh"]
    finally:
        wait_until(lambda: _remove(folder), what=f"{folder} to be empty")


def inside(pid: int) -> bool:
    """Whether a process has moved there."""
    place = cgroup.find(pid)
    return not isinstance(place, str) and "grpotui-test-" in place.folder


def _remove(folder: str) -> bool:
    with suppress(OSError):
        os.rmdir(folder)
    return not os.path.isdir(folder)
