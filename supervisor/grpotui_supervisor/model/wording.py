"""How messages name types, values and near matches."""

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any, Literal, TypeAlias, get_args, get_origin

Kind: TypeAlias = Any
"""A class, or a form such as `tuple[str, ...]` or `Literal["a", "b"]`."""

_LONGEST = 60  # characters of a value in a message

_EXPECTED: tuple[tuple[type, str, str], ...] = (
    (str, "a string", "strings"),
    (bool, "true or false", "true or false"),
    (int, "an integer", "integers"),
    (float, "a number", "numbers"),
)
_FOUND: tuple[tuple[type, str], ...] = (
    (bool, ""),
    (int, "the integer "),
    (float, "the number "),
    (str, "the string "),
)


def form(kind: Kind) -> object:
    """Return what the kind is a form of: `tuple`, `Mapping`, `Literal`; None for a plain class."""
    return get_origin(kind)


def expected(kind: Kind, *, many: bool = False) -> str:
    """Name a field type: `an integer`, `an array of strings`."""
    for plain, one, more in _EXPECTED:
        if kind is plain:
            return more if many else one
    origin = form(kind)
    if origin is Literal:
        return "one of " + ", ".join(repr(choice) for choice in get_args(kind))
    if origin is tuple:
        return f"{'arrays' if many else 'an array'} of {expected(get_args(kind)[0], many=True)}"
    if is_dataclass(kind) or origin is Mapping:
        return "tables" if many else "a table"
    return " or ".join(expected(choice, many=many) for choice in get_args(kind) if choice is not type(None))


def found(value: object) -> str:
    """Name a value: `the integer 3`, `an array`."""
    if isinstance(value, (list, dict)):
        return "an array" if isinstance(value, list) else "a table"
    for kind, name in _FOUND:
        if isinstance(value, kind):
            return name + shown(value)
    return f"the date or time {value}"


def shown(value: object) -> str:
    """Return the value on one line, cut to a readable length; nothing in it can control a terminal."""
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except ValueError:  # Python refuses to print an integer of more than 4300 digits
        return "of more than 4300 digits"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 2] + "…" + text[-1]


def near_match(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that was probably meant."""
    if len(word) > _LONGEST:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for it

    return next(iter(get_close_matches(word, tuple(known), 1)), None)


def size(count: int) -> str:
    """Bytes in binary units: `812 KiB`, `615 MiB`, `70.1 GiB`."""
    if abs(count) >= 1 << 30:
        return f"{count / (1 << 30):.1f} GiB"
    return f"{count >> 20} MiB" if abs(count) >= 1 << 20 else f"{count >> 10} KiB"
