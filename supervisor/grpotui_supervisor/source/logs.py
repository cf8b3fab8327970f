"""The members' logs, as far as the timeline says that they had grown."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.follow import read_range
from grpotui_supervisor.logs import engine, reader_for
from grpotui_supervisor.logs.marked import MarkedLines
from grpotui_supervisor.source.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.rundir import RunDirectory

_ENGINE_WORDS = (*engine.WORDS, *engine.STARTING_WORDS)


class Logs(Metrics):
    """Feeds the log of the member that prints the metrics (rank 0, or the driver) to the framework's reader.

    The others' logs are searched for what rollout engines say.
    """

    def __init__(self, directory: RunDirectory, facts: Mapping[str, Any]) -> None:
        self._directory = directory
        self._sizes: dict[str, int] = {}
        self._changed: dict[str, int] = {}
        profile = facts.get("profile", {})
        self.metrics_member = "driver" if profile.get("launch", {}).get("mode") == "command" else "0"
        super().__init__(
            reader_for(
                str(profile.get("framework", "auto")), logging_steps=profile.get("logs", {}).get("logging_steps")
            )
        )
        self._marked_logs: dict[str, MarkedLines] = {}
        self.gaps: list[tuple[int, int]] = []
        """(from, to) in monotonic nanoseconds: no monitor ran, so what was printed then has no time of its own."""

    def take(self, record: Mapping[str, Any]) -> None:
        """One record of the timeline; one that lacks what its kind needs changes nothing."""
        with suppress(KeyError, TypeError, ValueError, OverflowError):
            if record["ev"] == "size":
                self._grow(str(record["file"]), int(record["size"]), int(record["m"]))
            elif record["ev"] == "gap":
                self.gaps.append((int(record["from_m"]), int(record["m"])))

    def _grow(self, name: str, size: int, moment: int) -> None:
        member, _, file = name.rpartition("/")
        begin = self._sizes.get(name, 0)
        self._sizes[name] = size
        self._changed[member] = moment
        for block in read_range(self._directory.file(f"ranks/{name}"), min(begin, size), size):
            if member == self.metrics_member:
                self.feed(block, stream=file.removesuffix(".log"), moment=moment)
            else:
                self._search(name, block, moment)

    def _search(self, name: str, block: bytes, moment: int) -> None:
        member = name.partition("/")[0]
        for _, line in self._marked_logs.setdefault(name, MarkedLines()).lines(block, _ENGINE_WORDS):
            self.read_engine(line, f"rank {member}" if member.isdecimal() else member, moment)

    def sizes(self) -> dict[str, int]:
        """Last recorded size of each log, by its path below `ranks/`."""
        return dict(self._sizes)

    def last_output_m(self, member: str) -> int | None:
        """When a log of the member last grew; None: it has printed nothing yet."""
        return self._changed.get(member)
