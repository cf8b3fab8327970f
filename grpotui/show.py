"""A run at one moment as text: its status, and the last words of what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui import last_words
from grpotui.text import inert, status_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from grpotui_supervisor.source.source import Source


def status_text(source: Source, document: Mapping[str, Any]) -> str:
    """Several lines, the most telling first."""
    head, *rest = status_lines(document)
    words = [inert(line) for line in last_words.of_first_failure(source, document)]
    return "\n".join([head, *words, *rest])
