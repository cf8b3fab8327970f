"""Reads what TRL's trainers print: one Python dict for every `logging_steps`, a tqdm bar, tables of completions.

So do Unsloth, Axolotl and open-r1, which train with the same Trainer. The form is set by
transformers, not by TRL (see `hf_dicts`), and a dict does not tell its step. In order, the step is what ms-swift
prints in the dict; the title of the table that follows; the bar that is drawn again behind the dict, where both
come by one ordered stream; the count of dicts, where `logging_steps` is known; or unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.hf_bar import Bar
from grpotui_supervisor.logs.hf_columns import LateColumns
from grpotui_supervisor.logs.hf_count import Count
from grpotui_supervisor.logs.hf_dicts import values_of
from grpotui_supervisor.logs.hf_items import Dictionary, Drawn, Title
from grpotui_supervisor.logs.hf_kinds import Kind, Printed, printed
from grpotui_supervisor.logs.hf_scan import Scanner


@dataclass(slots=True)
class _Waiting:
    """A record, as long as what follows in its stream may tell its step."""

    found: Printed
    drawn: int | None
    """The bar in front of it; None: this stream has no bar so far."""
    row: int | None = None
    """Where it stands in the columns meanwhile."""


@dataclass(slots=True)
class _Stream:
    scanner: Scanner = field(default_factory=Scanner)
    bar: Bar = field(default_factory=Bar)
    waiting: _Waiting | None = None
    in_order: bool = True
    """Two dicts came without a bar between them: stdout is buffered, so the bars around a dict are not its own."""


class TrlReader:
    """One TRL run, from the output of the rank that prints the metrics (rank 0).

    Evaluations are rows of their own metrics, `val/…`, in the row of their step where it is known.
    """

    framework: ClassVar[str] = "trl"
    told_only: ClassVar[bool] = False
    """Whether dicts that do not tell step and total are left to another reader."""

    def __init__(self, *, logging_steps: int | None = None, logging_first_step: bool = False) -> None:
        self.columns = LateColumns()
        self.training_complete = False
        self._count = Count(logging_steps, first_step=logging_first_step)
        self._only_counted = True
        self._in_order: _Stream | None = None
        self._streams: dict[str, _Stream] = {}
        self._last: int | None = None
        self._last_epoch: float | None = None
        self._told_step: int | None = None
        self._told_total: int | None = None
        self._last_dictionary = Dictionary("", "")
        self._rank: int | None = None
        self._ranks: set[int] = set()

    @property
    def step(self) -> int | None:
        """The bar's where it comes in order with the metrics, so that a run that was started again is seen.

        Else the further one of metrics and bar: they come by two streams, and neither waits for the other.
        """
        if self._in_order is not None:
            return self._in_order.bar.done
        known = [self._last, self._told_step, self._bar().done]
        known += [self._next(state.waiting.found) for state in self._streams.values() if state.waiting is not None]
        return max((step for step in known if step is not None), default=None)

    @property
    def steps_total(self) -> int | None:
        """From the dicts of ms-swift, else from the trainer's bar."""
        return self._bar().total if self._told_total is None else self._told_total

    @property
    def printing_ranks(self) -> frozenset[int]:
        """Ranks that a launcher's prefix names before metrics.

        Only rank 0 prints them: any other trains alone, without its peers.
        """
        return frozenset(self._ranks)

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:
        """Read the next bytes of a stream."""
        state = self._streams.setdefault(stream, _Stream())
        for item in state.scanner.feed(block):
            match item:
                case Dictionary():
                    self._read(item, state)
                case Drawn():
                    self._draw(item, state)
                case Title():
                    self._settle(state, item.step)
        for shown in self._streams.values():
            if shown.waiting is not None:
                self._show(shown.waiting)

    def _bar(self) -> Bar:
        bars = [(state.bar.sure, state.bar.total is not None, name) for name, state in self._streams.items()]
        return self._streams[max(bars)[2]].bar if bars else Bar()

    def _read(self, item: Dictionary, state: _Stream) -> None:
        values = values_of(item.text)
        found = printed(values) if values is not None else None
        if found is None or (self.told_only and found.total is None):
            return
        if state.waiting is not None:
            state.in_order = state.in_order and state.waiting.drawn is None
            self._settle(state, self._next(state.waiting.found))
        state.bar.sure = state.bar.sure or state.bar.total is not None
        if found.step is not None:
            self._told_step = found.step
        if found.total is not None:
            self._told_total = found.total
        if found.kind is Kind.END:
            self.training_complete = True
        elif self._is_new(item):
            self._record(found, state)

    def _is_new(self, item: Dictionary) -> bool:
        """Not another rank's, nor the same dict behind another prefix: a trainer with a logger prints it twice."""
        if item.label:
            rank = item.rank
            if rank is not None:
                self._ranks.add(rank)
                self._rank = rank if self._rank is None else self._rank
                if rank != self._rank:
                    return False
        known = self._last_dictionary
        if item.text == known.text and item.label != known.label:
            return False
        self._last_dictionary = item
        return True

    def _record(self, found: Printed, state: _Stream) -> None:
        if found.step is not None:
            self._put(found, found.step)
            self._only_counted, self._in_order = False, None
        elif found.kind is Kind.TRAINING or (state.bar.done is not None and state.in_order):
            state.waiting = _Waiting(found, state.bar.done)
        else:
            self._put(found, self._last if found.epoch == self._last_epoch else None)

    def _put(self, found: Printed, step: int | None) -> None:
        self.columns.put(step, found.metrics)
        self._passed(found, step)

    def _passed(self, found: Printed, step: int | None) -> None:
        if found.kind is Kind.TRAINING:
            self._last, self._last_epoch = step, found.epoch

    def _next(self, found: Printed) -> int | None:
        """The step of the next record where nothing tells it."""
        return self._count.after(self._last) if found.kind is Kind.TRAINING else None

    def _show(self, waiting: _Waiting) -> None:
        """What was read is to be seen, although its step may yet change."""
        if waiting.row is None:
            waiting.row = len(self.columns)
            self.columns.lend(self._next(waiting.found), waiting.found.metrics)

    def _hide(self, waiting: _Waiting) -> None:
        """Unless another stream went on meanwhile."""
        if waiting.row is not None and waiting.row == len(self.columns) - 1:
            self.columns.take_back(waiting.found.metrics)
            waiting.row = None

    def _settle(self, state: _Stream, step: int | None) -> None:
        """What followed the record tells its step, or nothing did."""
        waiting, state.waiting = state.waiting, None
        if waiting is None:
            return
        self._only_counted = self._only_counted and step == self._next(waiting.found)
        self._in_order = None
        if waiting.row is None or self.columns.steps[waiting.row] != (UNKNOWN_STEP if step is None else step):
            self._hide(waiting)
        if waiting.row is None:
            self._put(waiting.found, step)
        else:
            self._passed(waiting.found, step)

    def _draw(self, item: Drawn, state: _Stream) -> None:
        bar = state.bar
        known = (bar.first, bar.written)
        if not bar.draw(item.done, item.total, redrawn=item.redrawn):
            return
        waiting = state.waiting
        if waiting is not None and waiting.drawn is not None:
            if state.in_order and (item.follows or item.done - waiting.drawn in (0, 1)):
                self._settle(state, item.done)
                self._in_order = state
                bar.written = bar.written or item.done
            else:
                self._settle(state, self._next(waiting.found))
        if known != (bar.first, bar.written):
            self._begin(self._bar())
        if bar.sure and bar.written:
            state.scanner.total = bar.total

    def _begin(self, bar: Bar) -> None:
        """The bar tells at which step the metrics begin; by another stream they may have been read before."""
        if not self._count.told(bar.first, bar.written):
            return
        for state in self._streams.values():
            if state.waiting is not None:
                self._hide(state.waiting)
        if self._only_counted:
            rows = [row for row, step in enumerate(self.columns.steps) if step != UNKNOWN_STEP]
            steps = list(zip(rows, self._count.steps(), strict=False))
            self.columns.renumber(steps)
            self._last = steps[-1][1] if steps else None
