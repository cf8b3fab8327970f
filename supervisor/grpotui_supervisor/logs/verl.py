"""Reads the console of verl 0.1 to 0.9: `step:12 - actor/entropy:0.5 - critic/score/mean:np.float64(0.2)`.

The line reaches us through Ray: coloured, behind `(TaskRunner pid=42) `, glued to a progress bar in front of
it or to the next actor's record behind it. Some trainers print a step two or three times; `Columns` merges them.
`step:0` is the validation before training. A file that begins with `{"step":` is verl's file logger.

Two readers share the work. Lines are searched for where they lie, in whole blocks, and a record whose keys are known
goes through a compiled layout. Everything else, a percent of the records, is read as text by `verl_text`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns
from grpotui_supervisor.logs.reader import BAR, LINE_END, Spans, line_start, plain
from grpotui_supervisor.logs.verl_fast import DIGITS, Fast
from grpotui_supervisor.logs.verl_json import FIRST, JsonRows
from grpotui_supervisor.logs.verl_text import FINAL, FinalValidation, continued, records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui_supervisor.logs.verl_text import Pair

_TOTAL = re.compile(r"Total training steps: ([0-9]{1,15})(?![0-9])")
_TOTAL_MARK: Final = b"Total training steps: "
_FINAL_MARK: Final = FINAL.encode()
_LABEL: Final = b"Training Progress: "
_BAR = re.compile(_LABEL + b" *" + BAR.replace("[^|]", r"[^|\r\n]").encode())
_NEVER: Final = 10**DIGITS


class _Open(NamedTuple):
    """A record that was the last line of its stream: a copy may have wrapped it."""

    step: int
    tail: str
    """Its last field as printed."""
    keys: list[str] | None
    """Its keys, when it is regular unless it goes on."""
    length: int
    """Of its first line."""
    full: bool = False
    """It went on, and the last line is as long as the first."""


class _Stream(Spans):
    """One output of the driver, and what its last lines leave open."""

    __slots__ = ("final", "fresh", "json", "record", "step", "total", "total_row", "wants_total")

    def __init__(self) -> None:
        super().__init__()
        self.fresh = True
        self.json: JsonRows | None = None
        self.step: int | None = None
        self.record: _Open | None = None
        self.final: FinalValidation | None = None
        self.total: int | None = None
        self.total_row = 0
        """How many rows there were when the log told it."""
        self.wants_total = True
        """Whether the number of steps is looked for. A driver prints it once, and looking takes half as long as
        reading all the rest of an ordinary log."""

    @property
    def near_end(self) -> bool:
        """Whether the final validation is looked for, which takes as long again."""
        return self.total is None or (self.step or 0) >= self.total - 1


class VerlReader:
    """One verl run, from its driver's output; either stream may carry the lines."""

    framework = "verl"

    def __init__(self) -> None:
        self.columns = Columns()
        self.steps_total: int | None = None
        self._streams: dict[str, _Stream] = {}
        self._fast = Fast(self.columns)
        self._printed: int | None = None
        self._bar: int | None = None
        self._final = False

    @property
    def step(self) -> int | None:
        """The further one of metrics and bar: they come by two streams, and neither waits for the other."""
        printed, bar = self._printed, self._bar
        if printed is None or bar is None:
            return bar if printed is None else printed
        return max(printed, bar)

    @property
    def training_complete(self) -> bool:
        """The last step's metrics are printed, after its checkpoint, or the final validation is."""
        return self._final or (bool(self.steps_total) and (self._printed or 0) >= (self.steps_total or 0))

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:
        """Read the next bytes of a stream."""
        state = self._streams.get(stream) or self._streams.setdefault(stream, _Stream())
        for data, begin, end in state.feed(block):
            if state.fresh:
                state.fresh = not data[begin:end].strip()
                state.json = JsonRows(self.columns) if FIRST.match(data, begin, end) else None
            if state.json is None:
                self._read(state, data, begin, end)
            else:
                state.json.read(data, begin, end)
                self._printed = state.json.step

    def _read(self, stream: _Stream, data: bytes, begin: int, end: int) -> None:
        """Read whole lines: those with something special as text, in their place among the others."""
        marks: dict[bytes, int] = {}
        while begin < end:
            special = end
            if stream.wants_total:
                special = _next(_TOTAL_MARK, marks, data, begin, end)
            if stream.near_end:
                special = min(special, _next(_FINAL_MARK, marks, data, begin, end))
            stop = end if special == end else line_start(data, begin, special)
            if stream.record or stream.final or stop == begin:
                begin = self._read_line(stream, data, begin, end)
            else:
                begin = self._read_ahead(stream, data, begin, stop)

    def _read_ahead(self, stream: _Stream, data: bytes, begin: int, end: int) -> int:
        """Read lines with nothing special but records. Returns how far; what is not regular ends it early."""
        known = -1 if stream.step is None else stream.step
        limit = _NEVER if stream.near_end or stream.total is None else stream.total - 1
        ahead = self._fast.read(data, begin, end, above=max(known, self.columns.top), limit=limit)
        self._read_bars(data, begin, ahead.end)
        if ahead.step is not None:
            stream.step = self._printed = ahead.step
        if ahead.record is not None:
            self._record(stream, *ahead.record)
        return self._read_line(stream, data, ahead.end, end) if ahead.line else ahead.end

    def _read_line(self, stream: _Stream, data: bytes, begin: int, end: int) -> int:
        """Read one line as text. Returns where the next one begins."""
        line_end = LINE_END.search(data, begin, end)
        stop, after = line_end.span() if line_end else (end, end)
        self._read_bars(data, begin, stop)
        line = plain(data[begin:stop].decode("utf-8", "replace"))
        if line.strip() and not self._goes_on(stream, line):
            if "step" in line:
                self._read_records(stream, line)
            if total := _TOTAL.search(line):
                self.steps_total = stream.total = int(total[1])
                stream.wants_total, stream.total_row = False, len(self.columns)
            if stream.near_end and FINAL in line:
                stream.final = FinalValidation(line)
                self._final = stream.wants_total = True
                self._close_final(stream)
        return after

    def _goes_on(self, stream: _Stream, line: str) -> bool:
        """Give a line to what the lines before it left open. Returns whether it was nothing else."""
        if stream.final:
            stream.final.add(line)
            self._close_final(stream)
        if stream.record is None:
            return False
        step, tail, keys, length, full = stream.record
        more = continued(tail, line, full=full)
        if more is None:
            stream.record = None
            if keys:
                self._fast.learn(keys)
            return False
        self.columns.record(step, more[0])
        stream.record = _Open(step, more[1], None, length, len(line) == length)
        return True

    def _close_final(self, stream: _Stream) -> None:
        if stream.final and not stream.final.waits:
            if pairs := stream.final.pairs:
                self.columns.record(UNKNOWN_STEP if stream.step is None else stream.step, pairs)
            stream.final = None

    def _read_records(self, stream: _Stream, line: str) -> None:
        for record in records(line):
            self._record(stream, record.step, record.pairs)
            stream.record = None
            keys = [key for key, _ in record.pairs] if record.regular else None
            if keys:
                self._fast.notice(line, record)
            if keys and self._fast.knows(keys):
                self._fast.learn(keys)  # the next ones are like it, and it is whole: all its keys are there
            elif record.tail is not None:
                stream.record = _Open(record.step, record.tail, keys, len(line))

    def _record(self, stream: _Stream, step: int, pairs: Sequence[Pair]) -> None:
        if stream.step is not None and step < stream.step and self.columns.happens_again(step, pairs[0][0]):
            self._restart(stream, step)
        self.columns.record(step, pairs)
        stream.step = self._printed = step if stream.step is None else max(step, stream.step)

    def _restart(self, stream: _Stream, step: int) -> None:
        """The run goes back: what only its past told is not known any more."""
        self._final, stream.step = False, None
        if stream.total_row != len(self.columns):  # the number of steps was told before the last record, not after it
            stream.total, stream.wants_total = None, True
        if self._bar is not None and self._bar > step:
            self._bar = None
        if self._bar is None:
            self.steps_total = stream.total
        self.columns.restart(step)

    def _read_bars(self, data: bytes, begin: int, end: int) -> None:
        """Take the last bar; there is one in each block where bars are drawn, so looking backwards is quick."""
        at = data.rfind(_LABEL, begin, end)
        while at >= 0:
            if bar := _BAR.match(data, at, end):
                self._bar, self.steps_total = int(bar[1]), int(bar[2])
                return
            at = data.rfind(_LABEL, begin, at)


def _next(mark: bytes, found: dict[bytes, int], data: bytes, begin: int, end: int) -> int:
    """Where a mark comes next, `end` if not at all; each is looked for once, however often a block is entered."""
    at = found.get(mark, -1)
    if at < begin:
        at = data.find(mark, begin, end)
        found[mark] = at = end if at < 0 else at
    return at
