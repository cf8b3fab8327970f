"""A feed that shows what a test gives it: a status document, curves, facts and findings, without a source."""

from __future__ import annotations

import copy
from array import array
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpotui.tui.feed.feed import Feed
from grpotui.tui.feed.frame import Frame
from grpotui_supervisor.model.finding import Finding, Raised
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.curves import RAW, Curve
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from grpotui.tui.feed.frame import Kind

H200 = Path(__file__).parents[1] / "data" / "runs" / "h200"
SECOND = 1_000_000_000


@cache
def _recorded(run: str) -> dict[str, Any]:
    source = Source(RunDirectory(str(H200 / run)))
    source.update(None)
    return status(source)


def recorded(run: str = "sigkill", **changes: Any) -> dict[str, Any]:
    """The status document of a run of the fixtures, with some of it changed."""
    return copy.deepcopy(_recorded(run)) | changes


def member(number: int, **changes: Any) -> dict[str, Any]:
    """A rank that runs."""
    return {
        "rank": number, "member": str(number), "node": "node-0", "role": "rank", "owned": True, "pid": 4000 + number,
        "state": "running", "sent": [], "output_age_s": 2.0, "phase": None, "ended_offset_s": None, "rss_bytes": None,
        "cpu_percent": None, "gpus": [], "gpu_bytes": None, "max_rss_bytes": None, "oom": None,
    } | changes  # fmt: skip


def killed(rank: int, at: float, name: str = "SIGKILL", **changes: Any) -> dict[str, Any]:
    """A rank that a signal ended, so many seconds after the start."""
    how = {"state": "killed", "signal": name, "code": None, "core_dumped": False, "ended_offset_s": at}
    return member(rank, **how | changes)


def exited(rank: int, code: int, at: float | None = None) -> dict[str, Any]:
    """A rank that ended by itself."""
    return member(rank, state="exited", code=code, signal=None, core_dumped=False, ended_offset_s=at)


def raised(name: str, at: float, severity: str = "warning", cleared: float | None = None, **changes: Any) -> Raised:
    """A finding, so many seconds after the start."""
    words = {"evidence": f"{name} was seen", "threshold": f"limit of {name}", "next": f"look at {name}"}
    found = Finding(id=name, severity=severity, **{**words, **changes})  # type: ignore[arg-type]
    start = _start()
    return Raised(
        finding=found,
        raised_m=start + round(at * SECOND),
        cleared_m=None if cleared is None else start + round(cleared * SECOND),
    )


def _start() -> int:
    as_of = recorded()["as_of"]
    return int(as_of["m"] - round(as_of["offset_s"] * SECOND))


class StillFeed(Feed):
    """Nothing moves but what the test moves."""

    def __init__(self, document: Mapping[str, Any] | None = None, kind: Kind = "replay") -> None:
        self.kind = kind  # type: ignore[misc]
        super().__init__()
        self.document = dict(document if document is not None else recorded())
        self.curves: dict[str, Sequence[float]] = {}
        self.known_keys: list[str] = []
        self.printed_as: dict[str, str] = {}
        self.doubtful: dict[str, str] = {}
        self.version = 1
        self.asked: list[str] = []
        """The metrics whose values were asked for."""
        self.run_facts: dict[str, Any] = {}
        self.told_findings: Sequence[Raised] = ()
        self.sizes: dict[str, int] = {}
        self.one_log = ""
        self.sought: list[int] = []

    @property
    def title(self) -> str:
        return "still"

    def start(self, told: Callable[[], object]) -> None:
        self._told = told
        self.set()

    def set(self, **changes: Any) -> None:
        """Another frame: the document with these changes."""
        self.document |= changes
        moment = (self.document.get("as_of") or {}).get("m")
        rows = max(map(len, self.curves.values()), default=0)
        self._post(Frame(kind=self.kind, document=dict(self.document), moment=moment, rows=rows))

    def over(self) -> None:
        """The run has ended."""
        self._post(replace(self.frame, over=True))

    def curve(self, name: str, begin: int = 0, version: int = 0, axis: str = "step") -> Curve:
        self.asked.append(name)
        begin = begin if version == self.version else 0
        values = array("d", list(self.curves.get(name, ()))[begin:])
        x = array("d") if axis == "none" else array("d", range(begin + 1, begin + 1 + len(values)))
        return Curve(self.version, begin, x, values, more=False)

    def splits(self, count: int) -> list[Any]:  # noqa: ARG002  (as the feed has it)
        return []

    def names(self) -> list[str]:
        return [name for name in self.curves if not name.startswith(RAW)]

    def keys(self) -> list[str]:
        return [*self.printed_as.values(), *(name.removeprefix(RAW) for name in self.curves if name.startswith(RAW))]

    def raw_name(self, name: str) -> str | None:
        return self.printed_as.get(name)

    def doubts(self) -> dict[str, str]:
        return self.doubtful

    def facts(self) -> Mapping[str, Any]:
        return self.run_facts

    def raised(self) -> Sequence[Raised]:
        return self.told_findings

    def log_sizes(self) -> dict[str, int]:
        return self.sizes

    def log_path(self, name: str) -> str:  # noqa: ARG002  (as the feed has it)
        return self.one_log

    def span(self) -> tuple[int, int] | None:
        return None if self.kind == "live" else (0, 1 << 62)

    def seek(self, at: int) -> None:
        self.sought.append(at)
