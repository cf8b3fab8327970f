"""Numbers as the trainers print or store them."""

from __future__ import annotations

import re

_FLOAT = r"[-+]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[Nn]a[Nn]|[Ii]nf(?:inity)?)"
_NUMBER = re.compile(rf"np\.\w+\(({_FLOAT})\)|({_FLOAT})")
_LIMIT = 512
_WORDS = {"True": 1.0, "False": 0.0}


def printed_number(text: str) -> float | None:
    """`0.25`, `np.float64(0.25)`, `True`; None for any other text."""
    text = text.strip()
    if len(text) > _LIMIT:
        return None
    match = _NUMBER.fullmatch(text)
    return float(match[1] or match[2]) if match else _WORDS.get(text)


def stored_number(value: object) -> float | None:
    """A number or a truth value of a file; None for anything else."""
    if not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
