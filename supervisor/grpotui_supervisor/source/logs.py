"""The members' logs, as far as the timeline says that they had grown."""

from __future__ import annotations

from array import array
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.follow import read_range
from grpotui_supervisor.logs import engine, reader_for
from grpotui_supervisor.logs.catalog import SAME_AS
from grpotui_supervisor.logs.marked import MarkedLines
from grpotui_supervisor.logs.verl import VerlReader
from grpotui_supervisor.rundir import VERL_METRICS
from grpotui_supervisor.source.metrics import Metrics
from grpotui_supervisor.source.probes import Probes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from grpotui_supervisor.logs.columns import Columns
    from grpotui_supervisor.rundir import RunDirectory

_ENGINE_WORDS = (*engine.WORDS, *engine.STARTING_WORDS)


class Logs(Metrics):
    """Feeds the log of the member that prints the metrics (rank 0, or the driver) to the framework's reader.

    Of an attached job it is the first of its logs in which a record is found. Where the hook or verl's file logger
    recorded metrics, those are the rows: they have all digits, and their steps. The other members' logs are searched
    for what rollout engines say, and for memory lines.

    Attributes:
        probes: what the hook recorded.
        metrics_member: the member whose log holds the metrics, and the samples.
        gaps: (from, to) in monotonic nanoseconds: no monitor ran, so what was printed then has no time of its own.
    """

    on_read: Callable[[int], object] = int
    """Is told the bytes of each block that was read; for whoever shows how far it is."""

    def __init__(self, directory: RunDirectory, facts: Mapping[str, Any]) -> None:
        self._directory = directory
        self._sizes: dict[str, int] = {}
        self._changed: dict[str, int] = {}
        profile = facts.get("profile", {})
        driver = profile.get("launch", {}).get("mode") == "command"
        members = [str(member) for member in facts.get("metrics_members", ["driver" if driver else "0"])]
        framework, steps = str(profile.get("framework", "auto")), profile.get("logs", {}).get("logging_steps")
        self._readers = {member: reader_for(framework, logging_steps=steps) for member in members}
        self.metrics_member = members[0] if members else "0"
        super().__init__(self._readers.get(self.metrics_member))
        self._marked_logs: dict[str, MarkedLines] = {}
        self.probes = Probes(directory, facts)
        self._verl_file = VerlReader()
        self._verl_moments = array("q")
        self.gaps: list[tuple[int, int]] = []

    @property
    def columns(self) -> Columns | None:
        """The hook's rows, else those of verl's file logger, else the log's."""
        exact = (self.probes.columns, self._verl_file.columns)
        return next((columns for columns in exact if len(columns)), super().columns)

    @property
    def moments(self) -> Sequence[int]:
        """When each of these rows was on record, in monotonic nanoseconds."""
        if len(self.probes.columns):
            return self.probes.row_moments
        return self._verl_moments if len(self._verl_file.columns) else super().moments

    @property
    def framework(self) -> str | None:
        """The framework of the log; the hook's metrics are TRL's, by whatever name its fork goes."""
        name = super().framework
        if len(self.probes.columns):
            return name if SAME_AS.get(name or "", name) == "trl" else "trl"
        return "verl" if name is None and len(self._verl_file.columns) else name

    @property
    def step(self) -> int | None:
        """The last step that is known to be done; the trainer's own word comes before the log's."""
        if self.probes.step is not None:
            return self.probes.step
        return self.logged_step

    @property
    def logged_step(self) -> int | None:
        """The further one of verl's file logger and the log."""
        return _further(self._verl_file.step, super().logged_step)

    @property
    def recorded_step(self) -> int | None:
        """The same, whatever a progress bar says."""
        return _further(self._verl_file.step, super().recorded_step)

    @property
    def steps_total(self) -> int | None:
        """How many steps the run will make, by the trainer's own word before the log's."""
        return super().steps_total if self.probes.steps_total is None else self.probes.steps_total

    @property
    def training_complete(self) -> bool:
        """Whether the log or the trainer itself says that training ran to its end."""
        return self.probes.training_complete or super().training_complete

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
        if file != VERL_METRICS:
            self._changed[member] = moment
        for block in read_range(self._directory.file(f"ranks/{name}"), min(begin, size), size):
            if file == VERL_METRICS:
                self._read_verl_file(block, moment)
            elif member == self.metrics_member:
                self.feed(block, stream=file.removesuffix(".log"), moment=moment)
            else:
                self._search(member, file, block, moment)
            self.on_read(len(block))

    def _read_verl_file(self, block: bytes, moment: int) -> None:
        self._verl_file.feed(block)
        self._verl_moments.extend([moment] * (len(self._verl_file.columns) - len(self._verl_moments)))

    def _search(self, member: str, file: str, block: bytes, moment: int) -> None:
        """A log without metrics, or with none so far."""
        reader = self._readers.get(member)
        if reader is not None and not self.has_begun:
            reader.feed(block, stream=file.removesuffix(".log"))
            if len(reader.columns):
                self.metrics_member, self.reader = member, reader
                self.settle(moment)
        for group in self.memory_groups(block, f"{member}/{file}"):
            self.memory.take(group, member, m=moment, step=self.recorded_step)
        for _, line in self._marked_logs.setdefault(f"{member}/{file}", MarkedLines()).raw_lines(block, _ENGINE_WORDS):
            self.read_engine(line, f"rank {member}" if member.isdecimal() else member, moment)

    def _engines_at(self, row: int) -> dict[str, float]:
        if self.columns is super().columns:
            return super()._engines_at(row)
        return self.engines.until(self.moments[row])

    def sizes(self) -> dict[str, int]:
        """Last recorded size of each log, by its path below `ranks/`."""
        return dict(self._sizes)

    def last_output_m(self, member: str) -> int | None:
        """When a log of the member last grew; None: it has printed nothing yet."""
        return self._changed.get(member)


def _further(*steps: int | None) -> int | None:
    return max((step for step in steps if step is not None), default=None)
