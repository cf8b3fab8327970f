"""Waiting for descriptors by poll(2): select(2) refuses any number above 1023, which a busy process reaches."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def readable(fds: Iterable[int], seconds: float | None) -> set[int]:
    """Those that can be read from, or have ended; empty once the time is up. None: as long as it takes."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return {fd for fd, _ in poll.poll(None if seconds is None else max(0.0, seconds) * 1000)}
