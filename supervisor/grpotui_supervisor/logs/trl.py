"""Reads what TRL's trainers print: one Python dict for every `logging_steps`, and a tqdm bar.

The form is set by transformers, not by TRL. 4.x prints bare numbers, `{'loss': 0.0, 'kl': nan}`, which
`ast.literal_eval` refuses; 5.x prints quoted ones of four digits, `{'loss': '-0.02034', 'kl': None}`. So pairs
are found one by one. A dict does not tell its step: that is the count of dicts times `logging_steps`, or
unknown. In a merged stream a dict is glued to the bar in front of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns
from grpotui_supervisor.logs.reader import BAR, HEAD_LIMIT, Lines, number

if TYPE_CHECKING:
    from collections.abc import Mapping

_DICT = re.compile(r"\{(\s*'[^{}]*)\}")
_PAIR = re.compile(r"""(?:'([^']*)'|"([^"]*)")\s*:\s*(?:'([^']*)'|"([^"]*)"|([^,'"]*))""")
_NESTED = re.compile(r"""(?:['"]\s*:|[\[(,])\s*$""")  # a dict that is a value or an item of something larger
_BAR = re.compile(rf"(?:\[default[0-9]+\]:)?\s*{BAR}")  # the trainer's own bar has no label
_MISSING = ("None", "null")
_KNOWN = frozenset({"loss", "grad_norm", "reward", "kl", "entropy"})


class TrlReader:
    """One TRL run, from the output of the rank that prints the metrics (rank 0)."""

    framework = "trl"
    phase: str | None = None
    """TRL names no phase in its log."""

    def __init__(self, *, logging_steps: int | None = None) -> None:
        self.columns = Columns()
        self.steps_total: int | None = None
        self.training_complete = False
        self._logging_steps = logging_steps if logging_steps and logging_steps > 0 else None
        self._streams: dict[str, Lines] = {}
        self._bar: int | None = None

    @property
    def step(self) -> int | None:
        """The further one of metrics and bar: they come by two streams, and neither waits for the other."""
        known = [] if self._logging_steps is None else list(self.columns.steps[-1:])
        return max(known if self._bar is None else [*known, self._bar], default=None)

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:
        """Read the next bytes of a stream."""
        lines = self._streams.setdefault(stream, Lines())
        for line in lines.feed(block):
            self._read_bar(line[:HEAD_LIMIT])
            self._read_dicts(line)
        self._read_bar(lines.head())

    def _read_bar(self, line: str) -> None:
        bar = _BAR.match(line)
        if bar is None:
            return
        done, total = int(bar[1]), int(bar[2])
        if total == self.steps_total or self._may_become_total(done):
            self._bar, self.steps_total = done, total

    def _may_become_total(self, done: int) -> bool:
        """Bars without a label are drawn by evaluation and by user code too.

        The trainer's starts at 0. One that finished before any metric was printed was not the trainer's.
        """
        if self.steps_total is None:
            return True
        return done == 0 and not self.columns and self._bar == self.steps_total

    def _read_dicts(self, line: str) -> None:
        for match in _DICT.finditer(line):
            start = match.start()
            if not _NESTED.search(line[max(0, start - 64) : start]):
                self._read_dict(_texts(match[1]))

    def _read_dict(self, texts: Mapping[str, str]) -> None:
        values = {key: number(text) for key, text in texts.items()}
        if "train_loss" in values and "train_runtime" in values:
            self.training_complete = True
        elif _is_record(texts, values):
            every = self._logging_steps
            step = UNKNOWN_STEP if every is None else (len(self.columns) + 1) * every
            self.columns.record(step, ((key, value) for key, value in values.items() if value is not None))


def _texts(body: str) -> dict[str, str]:
    """Key and value as printed, without quotes."""
    return {
        single or double: quoted or other or bare.strip() for single, double, quoted, other, bare in _PAIR.findall(body)
    }


def _is_record(texts: Mapping[str, str], values: Mapping[str, float | None]) -> bool:
    """A trainer's dict has a known metric and `epoch`; without `epoch`, loss or reward and nothing but numbers.

    A reward function's own `{'prompt': 'one', 'reward': 0.5}` must not count: it would shift all later steps.
    """
    readable = {key for key, value in values.items() if value is not None or texts[key] in _MISSING}
    if "epoch" in values:
        return any(key in _KNOWN or key.startswith("rewards/") for key in readable)
    return len(readable) == len(values) and not readable.isdisjoint(("loss", "reward"))
