"""The members' logs, as far as the timeline says that they had grown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui_supervisor.follow import read_range
from grpotui_supervisor.logs import reader_for
from grpotui_supervisor.logs.catalog import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.logs.reader import Reader
    from grpotui_supervisor.rundir import RunDirectory


class Logs:
    """Feeds the log of the member that prints the metrics (rank 0, or the driver) to the framework's reader."""

    def __init__(self, directory: RunDirectory, facts: Mapping[str, Any]) -> None:
        self._directory = directory
        self._sizes: dict[str, int] = {}
        self._changed: dict[str, int] = {}
        profile = facts.get("profile", {})
        self._metrics_member = "driver" if profile.get("launch", {}).get("mode") == "command" else "0"
        self.reader: Reader | None = reader_for(
            str(profile.get("framework", "auto")), logging_steps=profile.get("logs", {}).get("logging_steps")
        )
        self.gaps: list[tuple[int, int]] = []
        """(from, to) in monotonic nanoseconds: no monitor ran, so what was printed then has no time of its own."""

    def take(self, record: Mapping[str, Any]) -> None:
        """One record of the timeline."""
        if record["ev"] == "size":
            self._grow(str(record["file"]), int(record["size"]), int(record["m"]))
        elif record["ev"] == "gap":
            self.gaps.append((int(record["from_m"]), int(record["m"])))

    def _grow(self, name: str, size: int, moment: int) -> None:
        member, _, file = name.rpartition("/")
        begin = self._sizes.get(name, 0)
        self._sizes[name] = size
        self._changed[member] = moment
        if member == self._metrics_member and self.reader is not None:
            stream = file.removesuffix(".log")
            for block in read_range(self._directory.file(f"ranks/{name}"), min(begin, size), size):
                self.reader.feed(block, stream=stream)

    def sizes(self) -> dict[str, int]:
        """Last recorded size of each log, by its path below `ranks/`."""
        return dict(self._sizes)

    def last_output_m(self, member: str) -> int | None:
        """When a log of the member last grew; None: it has printed nothing yet."""
        return self._changed.get(member)

    @property
    def framework(self) -> str | None:
        """The framework of the log; None while it is not recognised."""
        name = self.reader.framework if self.reader is not None else "auto"
        return None if name == "auto" else name

    @property
    def steps(self) -> int:
        """How many rows of metrics there are."""
        return len(self.reader.columns) if self.reader is not None else 0

    def step_of(self, row: int) -> int | None:
        """The step of a row; None where the log does not tell."""
        if self.reader is None:
            return None
        step = self.reader.columns.steps[row]
        return None if step < 0 else step

    def metrics(self, row: int) -> dict[str, float]:
        """Canonical metrics of a row; what the framework did not print is absent."""
        if self.reader is None or self.framework is None:
            return {}
        return canonical(self.framework, self.reader.columns.row(row))

    def latest_metrics(self) -> dict[str, float]:
        """Each canonical metric at the last row that has it: some trainers print a metric on some steps only."""
        if self.reader is None or self.framework is None:
            return {}
        columns = self.reader.columns
        last = {key: value for key in columns.series if (value := columns.last(key)) is not None}
        return canonical(self.framework, last)
