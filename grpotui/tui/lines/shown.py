"""What is shown of the bytes of a log: no colours, no control characters, of a progress bar its last state."""

from __future__ import annotations

import re
from typing import Final

from grpotui.text import inert

LIMIT: Final = 1 << 14
"""Bytes of one line that are shown; a longer one says how much more there is."""

_ESCAPES: Final = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    rb"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links, device control
    rb"|\x1b[ -/]*[0-~]?"
)
_TAB: Final = 4


def text_of(raw: bytes) -> str:
    """The text of whole lines, with their line ends where they were: search looks at this, and `line_of` shows it."""
    if b"\x1b" in raw:
        raw = _ESCAPES.sub(b"", raw)
    if b"\r" in raw:
        raw = _last_states(raw)
    text = raw.decode("utf-8", "replace")
    return text.expandtabs(_TAB) if "\t" in text else text


def line_of(raw: bytes) -> str:
    """One line, fit for a terminal."""
    return inert(text_of(raw.removesuffix(b"\n")))


def _last_states(raw: bytes) -> bytes:
    """Of each line what was drawn last; what only wiped it out is nothing."""
    found, at = [], 0
    while (redrawn := raw.find(b"\r", at)) >= 0:
        begin = max(at, raw.rfind(b"\n", at, redrawn) + 1)
        end = raw.find(b"\n", redrawn)
        end = len(raw) if end < 0 else end
        line = raw[begin:end].rstrip(b"\r\t ")
        found += [raw[at:begin], line[line.rfind(b"\r") + 1 :]]
        at = end
    return b"".join((*found, raw[at:]))
