"""The last lines that a member wrote, as far as they were on record at the moment that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor.follow import read_range
from grpotui_supervisor.logs.reader import plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from grpotui_supervisor.source.source import Source

_TAIL_BYTES = 16384
_LINES = 6


def of_first_failure(source: Source, document: Mapping[str, Any]) -> list[str]:
    """The log of the member that failed first, its path above; empty when it wrote nothing."""
    first = document["first_failure"]
    if first is None:
        return []
    for stream in ("stderr", "stdout"):
        lines = _tail(source, first["member"], stream)
        if lines:
            return [f"end of {source.directory.log(first['member'], stream)}:", *(f"  {line}" for line in lines)]
    return []


def _tail(source: Source, member: str, stream: str) -> list[str]:
    size = source.logs.sizes().get(f"{member}/{stream}.log", 0)
    begin = max(0, size - _TAIL_BYTES)
    raw = b"".join(read_range(source.directory.log(member, stream), begin, size))
    lines = raw.decode("utf-8", "replace").rstrip().split("\n")[1 if begin else 0 :]
    shown = [plain(line.rstrip("\r").rpartition("\r")[2]).rstrip() for line in lines]  # of a bar, its last state
    return [line for line in shown if line][-_LINES:]
