"""Text of a model, made fit to be shown: nothing in it can control a terminal or reorder what is read."""

from __future__ import annotations

import re

_HOSTILE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links, device control
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r"|[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"  # direction of writing
    r"|[\ud800-\udfff]"
)


def inert(text: str) -> str:
    """The text without control sequences; line ends and tabs stay."""
    return text if text.isprintable() else _HOSTILE.sub("", text.replace("\r\n", "\n"))
