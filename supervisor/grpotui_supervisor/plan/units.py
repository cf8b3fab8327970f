"""Bytes as people write them. GB are 10^9 and GiB are 2^30 bytes, and every figure says which."""

from __future__ import annotations

from typing import Final

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.model.sizes import count_of, size_of

GB: Final = 10**9
GIB: Final = 2**30


def parse_bytes(text: str) -> int:
    """Bytes of `32GB`, `8 GiB` or `80 gb`.

    Raises:
        UsageError: it is no size; a bare number is none, since nobody knows of what.
    """
    found = size_of(text)
    if found is None:
        raise UsageError(f"{text!r} is no size", hint="write 32GB (10^9 bytes each) or 32GiB (2^30)")
    return found


def parse_count(text: str) -> int:
    """A number of parameters: `1.7B` or `600M`.

    Raises:
        UsageError: it is none.
    """
    found = count_of(text)
    if found is None:
        raise UsageError(f"{text!r} is no number of parameters", hint="write 1.7B or 600M")
    return found


def gb(size: float) -> str:
    """In GB, with as many digits as a plan deserves: `27 GB`, `2.5 GB`, `0.04 GB`."""
    return f"{_digits(size / GB)} GB"


def gib(size: float) -> str:
    """In GiB: `7.71 GiB`."""
    return f"{size / GIB:.2f} GiB"


def both(size: float) -> str:
    """`27 GB (25.3 GiB)`: cards are sold in the one and drivers count in the other."""
    return f"{gb(size)} ({_digits(size / GIB)} GiB)"


def _digits(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 0.95 else f"{value:.2g}"
