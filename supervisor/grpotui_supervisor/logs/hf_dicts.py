"""Python and JSON dictionaries as the Hugging Face trainers print them: from the text between braces to values.

transformers 4 prints bare numbers (`{'loss': 0.0, 'kl': nan}`), 5 quoted ones of four digits and None; ms-swift
adds words (`'elapsed_time': '1m 29s'`) and appends JSON to a file. Most of them become JSON by other quotes, which
msgspec reads 20 times as fast as a regular expression per pair; what does not is read pair by pair. Both ways give
the same numbers, bit for bit.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Final

from msgspec import MsgspecError
from msgspec.json import Decoder

from grpotui_supervisor.logs.reader import number

DICT_LIMIT: Final = 1 << 16
"""Characters of one dictionary; the longest in our logs has 2.3 thousand."""

Value = float | str | None
"""A number, a text that is none, or a value that the trainer says is missing."""

_QUOTED = r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)\""""
_OTHER = r"""[\w.]+\([^()]*+\)|\[[^\[\]]*+\]|\{[^{}]*+\}|[^,'"{}\[\]()]*+"""
_PAIR = re.compile(rf"\s*+(?:{_QUOTED})\s*+:\s*+(?:(?:{_QUOTED})|({_OTHER}))\s*+(?:,|$)", re.DOTALL)
_MISSING = ("None", "null")

_only_numbers = Decoder(dict[str, float | None], strict=False).decode
"""Quoted or not; of "nan" and "inf" it also takes spellings that `number()` refuses."""
_numbers_and_texts = Decoder(dict[str, float | str | None]).decode


def values_of(text: str) -> dict[str, Value] | None:
    """The pairs of a printed dictionary, braces included; None when it is not one.

    A value that is no number stays as its text, without quotes; the last of several equal keys wins.
    """
    if len(text) > DICT_LIMIT:
        return None
    found = _as_json(text)
    return _by_pairs(text) if found is None else found


def _as_json(text: str) -> dict[str, Value] | None:
    """None also for a good dictionary that only the slow way can read."""
    if "'" in text:
        if '"' in text or "\\" in text or "null" in text:
            return None
        text = text.replace("'", '"').replace(": None", ": null")
    if '-0"' in text or "-0," in text or "-0}" in text:  # msgspec drops the sign of an integer zero
        return None
    try:
        numbers = _only_numbers(text)
    except MsgspecError:
        return _with_texts(text)
    return numbers if isfinite(sum(filter(None, numbers.values()))) else None  # type: ignore[return-value]


def _with_texts(text: str) -> dict[str, Value] | None:
    try:
        found = _numbers_and_texts(text)
    except MsgspecError:
        return None
    return {key: _value(each) if isinstance(each, str) else each for key, each in found.items()}


def _by_pairs(text: str) -> dict[str, Value] | None:
    """Pair by pair; all of the text must be pairs, or a prose with one pair in it would pass for a dictionary."""
    body = text[1:-1]
    found: dict[str, Value] = {}
    start = 0
    while start < len(body):
        pair = _PAIR.match(body, start)
        if pair is None:
            return None if body[start:].strip() else found
        single, double, quoted, other, bare = pair.groups()
        key = single if single is not None else double
        if bare is None:
            found[key] = _value(quoted if quoted is not None else other)
        elif bare.strip():
            found[key] = None if bare.strip() in _MISSING else _value(bare.strip())
        else:
            return None
        start = pair.end()
    return found


def _value(text: str) -> Value:
    found = number(text)
    return text if found is None else found
