"""Bytes and cards as people write them: `32GB`, `8 GiB`, `4x32GB`. GB are 10^9 and GiB 2^30 bytes."""

import re
from types import MappingProxyType

_UNITS = MappingProxyType({"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20,
                           "gib": 2**30, "tib": 2**40})  # fmt: skip
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*([KMGT]?i?B)", re.IGNORECASE)
_CARDS = re.compile(r"([0-9]{1,4})\s*[x\u00d7*]\s*(.+)", re.IGNORECASE)
_COUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*([KMBT])", re.IGNORECASE)
_COUNTS = MappingProxyType({"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12})


def size_of(text: str) -> int | None:
    """Bytes; None: it is no size. A bare number is none, since nobody knows of what."""
    found = _SIZE.fullmatch(text.strip())
    return None if found is None else round(float(found[1]) * _UNITS[found[2].lower()])


def cards_of(text: str) -> tuple[int, int] | None:
    """Number of cards and bytes of each; one card is `1x80GB` or `80GB`. None: it is none of these."""
    found = _CARDS.fullmatch(text.strip())
    count, each = (int(found[1]), size_of(found[2])) if found is not None else (1, size_of(text))
    return None if each is None or not each else (count, each)


def count_of(text: str) -> int | None:
    """A number of parameters: `1.7B` or `600M`; None: it is none."""
    found = _COUNT.fullmatch(text.strip())
    return None if found is None else round(float(found[1]) * _COUNTS[found[2].lower()])
