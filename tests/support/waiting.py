"""Waiting on conditions, never for a fixed time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def wait_until(
    look: Callable[[], T | Literal[False] | None], *, seconds: float = 20.0, what: str = "the condition"
) -> T:
    """Calls `look` until it answers something true, and returns that; fails loudly when time is up."""
    deadline = time.monotonic() + seconds
    while True:
        answer = look()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {seconds:g} s; last answer: {answer!r}")
        time.sleep(0.005)
