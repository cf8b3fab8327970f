"""What a log tells over time, behind whatever reader the framework needs: metrics, phase, checkpoints, engines."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from grpotui_supervisor.logs import checkpoints, engine, engine_fast, phases
from grpotui_supervisor.logs.catalog import SAME_AS, canonical
from grpotui_supervisor.logs.checkpoints import Checkpoints
from grpotui_supervisor.logs.marked import MarkedLines, text_of
from grpotui_supervisor.logs.memory_lines import Group, MemoryLines
from grpotui_supervisor.source.engines import Engines
from grpotui_supervisor.source.memory import LoggedMemory

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grpotui_supervisor.logs.columns import Columns
    from grpotui_supervisor.logs.reader import Reader

_FAMILIES = ("verl", "trl")
_STEADY = engine.WORDS
_STARTING = (*phases.STARTING_WORDS, *engine.STARTING_WORDS)


class LogPhase(NamedTuple):
    """What the log said last of what the run is doing."""

    name: str
    m: int | None
    """When the log grew by that line; None for a bare log."""


class Metrics:
    """Rows of metrics as far as the reader was fed; what the framework did not print is absent.

    Attributes:
        phase: the phase that the log told last, if neither a record nor its end came after it.
        checkpoints: those that the log tells of.
        engines: what rollout engines said.
        memory: what verl's processes said of theirs.
    """

    def __init__(self, reader: Reader | None) -> None:
        self.reader = reader
        self.phase: LogPhase | None = None
        self.checkpoints = Checkpoints()
        self.engines = Engines()
        self.memory = LoggedMemory()
        self._moments: array[int] = array("q")
        self._marked: dict[str, MarkedLines] = {}
        self._memory_lines: dict[str, MemoryLines] = {}
        self._step: int | None = None
        self._complete = False

    def feed(self, block: bytes, *, stream: str = "stdout", moment: int | None = None) -> None:
        """Read the next bytes of the log with the metrics; `moment`: when it had them.

        The reader gets the block in pieces that end with the lines that tell of something else, so that it is known
        which records came before such a line and which after it, however the log was cut into blocks.
        """
        reader = self.reader
        if reader is None:
            return
        marked = self._marked.setdefault(stream, MarkedLines())
        begin = 0
        for end, what in self._marks(block, marked, stream):
            reader.feed(block[begin:end], stream=stream)
            begin = end
            self.settle(moment)
            if isinstance(what, Group):
                self.memory.take(what, "", m=moment, step=self.recorded_step)
            else:
                self._mark(what, moment)
        reader.feed(block[begin:] if begin else block, stream=stream)
        self.settle(moment)
        bar = None if self.has_begun else phases.bar_mark(marked.head())
        if bar is not None:
            self._enter(bar.phase, moment)

    @property
    def framework(self) -> str | None:
        """The framework of the log; None while it is not recognised."""
        name = self.reader.framework if self.reader is not None else "auto"
        return None if name == "auto" else name

    @property
    def columns(self) -> Columns | None:
        """The rows; None for a framework without a reader."""
        return None if self.reader is None else self.reader.columns

    @property
    def moments(self) -> Sequence[int]:
        """For each row when the log grew by it, in monotonic nanoseconds; -1 where that is not known."""
        return self._moments

    @property
    def has_begun(self) -> bool:
        """Whether the log has a record: what it says of starting is over then."""
        return len(self._moments) > 0

    @property
    def step(self) -> int | None:
        """The last step that is known to be done."""
        return None if self.reader is None else self.reader.step

    @property
    def logged_step(self) -> int | None:
        """The same by what the logs alone say: that is known in their order, however late other records are read."""
        return None if self.reader is None else self.reader.step

    @property
    def recorded_step(self) -> int | None:
        """The step of the log's last record, whatever a progress bar says."""
        if self.reader is None or not len(self.reader.columns):
            return None
        step = self.reader.columns.steps[-1]
        return None if step < 0 else step

    @property
    def steps_total(self) -> int | None:
        """How many steps the run will make, where that is told."""
        return None if self.reader is None else self.reader.steps_total

    @property
    def training_complete(self) -> bool:
        """Whether the log says that training ran to its end."""
        return self.reader is not None and self.reader.training_complete

    @property
    def steps(self) -> int:
        """How many rows of metrics there are."""
        return 0 if self.columns is None else len(self.columns)

    def step_of(self, row: int) -> int | None:
        """The step of a row; None where the log does not tell."""
        if self.columns is None:
            return None
        step = self.columns.steps[row]
        return None if step < 0 else step

    def raw(self, row: int) -> dict[str, float]:
        """A row by the framework's own keys."""
        return {} if self.columns is None else self.columns.row(row)

    def metrics(self, row: int) -> dict[str, float]:
        """A row by canonical names, with what the one rollout engine had said last before it was printed."""
        return {} if self.framework is None else {**self._engines_at(row), **canonical(self.framework, self.raw(row))}

    def latest_metrics(self, rows: int | None = None) -> dict[str, float]:
        """Each canonical metric at the last of the first `rows` rows that has it.

        Some trainers print a metric on some steps only, so the last row alone would lose it. Of an engine it is the
        last that was said, also after the last row.
        """
        engines = self.engines.single() if rows is None else self._engines_at(rows - 1) if rows else {}
        columns, last = self.columns, {}
        if columns is None or self.framework is None:
            return engines
        for key, series in columns.series.items():
            count = len(series.rows) if rows is None else bisect_left(series.rows, rows)
            if count:
                last[key] = series.values[count - 1]
        return {**engines, **canonical(self.framework, last)}

    def read_engine(self, line: bytes, origin: str, moment: int | None) -> bool:
        """One whole line of any log of the run. Returns whether it holds statistics, and so tells of nothing else."""
        statistics = engine_fast.statistics(line)
        if statistics is None:
            self.engines.read(text_of(line), origin, m=moment, step=self.logged_step)
        else:
            self.engines.add(statistics, origin, m=moment, step=self.logged_step)
        return statistics is not None

    def _marks(self, block: bytes, marked: MarkedLines, stream: str) -> Iterable[tuple[int, bytes | Group]]:
        """What tells of something else than metrics, in order, behind the offset up to which the reader goes first."""
        lines = marked.raw_lines(block, self._words())
        groups = self.memory_groups(block, stream)
        if not groups:
            return lines
        return sorted([*lines, *((group.begin, group) for group in groups)], key=itemgetter(0))

    def memory_groups(self, block: bytes, stream: str) -> list[Group]:
        """The memory lines that end in the next block of a log; another framework than verl has none."""
        if self._family() not in (None, "verl"):
            return []
        return self._memory_lines.setdefault(stream, MemoryLines()).groups(block)

    def _engines_at(self, row: int) -> dict[str, float]:
        return self.engines.at(row)

    def _family(self) -> str | None:
        """Whose lines the log may hold; None: any, since the framework is not known yet."""
        name = self.framework
        return None if name is None else SAME_AS.get(name, name)

    def _words(self) -> Sequence[bytes]:
        return _words(self._family(), starting=not self.has_begun)

    def settle(self, moment: int | None) -> None:
        """What the reader has found since the last call: records, a moving bar, the end of the training."""
        reader = self.reader
        if reader is None:
            return
        known, rows = len(self._moments), len(reader.columns)
        if rows > known:
            self._moments.extend([-1 if moment is None else moment] * (rows - known))
            for row in range(known, rows):
                self.engines.note_row(row)
        step = reader.step
        if rows > known or step != self._step:
            self._step = step
            self.phase = None
            if self._is_first_step(reader.columns.steps):
                self._enter(phases.FIRST_STEP, moment)
        if reader.training_complete and not self._complete:
            self._complete = True
            self._enter(phases.COMPLETE, moment)
        if self.checkpoints.found:
            self.checkpoints.settle(reader.columns.steps, complete=self._complete)

    def _is_first_step(self, steps: Sequence[int]) -> bool:
        """A bar at 0, or verl's validation before the training: what comes next is the first step."""
        if self._step != 0:
            return False
        return not len(steps) or (len(steps) == 1 and steps[0] == 0 and self._family() == "verl")

    def _mark(self, raw: bytes, moment: int | None) -> None:
        may_be_engine = not self.has_begun or any(word in raw for word in _STEADY)
        if may_be_engine and self.read_engine(raw, "", moment):
            return
        line = text_of(raw)
        family = self._family()
        mark = phases.mark_of(line, starting=not self.has_begun)
        if mark is not None and (mark.family is None or family in (None, mark.family)):
            self._enter(mark.phase, moment)
        self.checkpoints.read(line, family=family, rows=len(self._moments), moment=moment)

    def _enter(self, name: str | None, moment: int | None) -> None:
        if name is None:
            self.phase = None
        elif self.phase is None or self.phase.name != name:
            self.phase = LogPhase(name, moment)


@cache
def _words(family: str | None, *, starting: bool) -> Sequence[bytes]:
    families = _FAMILIES if family is None else (family,)
    told = {word for name in families for table in (phases.WORDS, checkpoints.WORDS) for word in table.get(name, ())}
    return (*_STEADY, *sorted(told), *(_STARTING if starting else ()))
