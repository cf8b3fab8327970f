"""Whatever a check started is gone when its test ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.preflight import left_behind

from grpotui_supervisor.preflight import child, interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    interpreter._known.clear()  # a test changes what is installed
    child._source.cache_clear()  # or has programs of its own
    yield
    assert not left_behind()
