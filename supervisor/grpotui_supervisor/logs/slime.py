"""Reads slime and its fork miles: `[2026-07-20 17:53:24] data.py:193 - rollout 0: {'rollout/raw_reward': 0.2, ...}`.

Several lines make one step: `perf N` comes from the rollout side and again from the trainer, `rollout N` and `eval N`
once, and `step M` for every optimizer step, of which a rollout may have several. They are merged by the number of the
rollout, which counts from 0.
"""

from __future__ import annotations

import re

from grpotui_supervisor.logs.line_reader import LineReader, dict_pairs, dicts_after

_RECORD = re.compile(
    r"(?:^| - |\) )((?:critic-)?step|rollout|perf|eval|passrate|multi_turn) ([0-9]{1,15}): \{(?=['\"])"
)


class SlimeReader(LineReader):
    """One slime run, from the output of its driver."""

    framework = "slime"

    def __init__(self) -> None:
        super().__init__()
        self._rollout: int | None = None

    def _read(self, line: str, stream: str) -> None:  # noqa: ARG002
        if ": {" not in line:
            return
        for found, body in dicts_after(_RECORD, line):
            pairs = [pair for pair in dict_pairs(body) if "/" in pair[0]]
            if pairs:
                row = self._row(found[1], int(found[2]))
                if found[1] == "rollout":  # the trainer's own line; the others may be ahead or behind
                    self._record(row, pairs)
                else:
                    self.columns.record(row, pairs)

    def _row(self, kind: str, printed: int) -> int:
        """The rollout that a line belongs to."""
        if kind == "rollout":
            self._rollout = printed
        if not kind.endswith("step"):
            return printed
        rollout = printed if self._rollout is None else min(printed, self._rollout)
        self.step = max(self.step or 0, rollout)
        return rollout
