"""What launch hands to the shim over stdin: who is to be started, with which environment and which limits.

The environment exists only here, in memory: it is never written to the run directory.
"""

from __future__ import annotations

import json
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO

_LONGEST_S = 366 * 86400.0


class Limits:
    """Times in seconds; meanings as in the profile's [launch] table."""

    __slots__ = (
        "grace", "interrupt", "keep_leftovers", "leftover_grace", "teardown_grace", "terminate", "unkillable",
    )  # fmt: skip

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.grace = _seconds(document, "grace", 10)
        self.teardown_grace = _seconds(document, "teardown_grace", 300)
        self.leftover_grace = _seconds(document, "leftover_grace", 30)
        self.keep_leftovers = document.get("leftovers", "stop") == "keep"
        self.interrupt = _seconds(document, "interrupt", 10)
        self.terminate = _seconds(document, "terminate", 10)
        self.unkillable = _seconds(document, "unkillable", 30)


def _seconds(document: Mapping[str, Any], name: str, default: float) -> float:
    """A time that can be counted in nanoseconds: `inf` in a profile means a year."""
    value = float(document.get(name, default))
    return default if math.isnan(value) else min(max(value, 0.0), _LONGEST_S)


class Start:
    """One process to be started. `member` names it in the record and is its folder under `ranks/`."""

    __slots__ = ("argv", "cwd", "env", "member", "rank", "role")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.member: str = document["member"]
        self.rank: int | None = document["rank"]
        self.role: str = document["role"]
        self.argv: list[str] = document["argv"]
        self.env: dict[str, str] = document["env"]
        self.cwd: str = document["cwd"]


class Specification:
    """The whole of it. `adopt` means: start nothing, take over what a dead shim left behind."""

    __slots__ = ("adopt", "env", "limits", "node", "observe", "run", "starts", "use_pidfd_info")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.run: str = document["run"]
        self.node: str = document["node"]
        self.adopt = bool(document.get("adopt", False))
        self.observe = bool(document.get("observe", False))
        self.use_pidfd_info = bool(document.get("pidfd_info", True))
        self.limits = Limits(document.get("limits", {}))
        self.env: dict[str, str] = document.get("env", {})
        self.starts = [Start(item) for item in document.get("starts", [])]


def read(stream: BinaryIO) -> Specification:
    """Reads it to the end of the stream; ValueError or KeyError when it is not one."""
    return Specification(json.loads(stream.read()))
