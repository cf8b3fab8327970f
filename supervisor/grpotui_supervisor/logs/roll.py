"""Reads ROLL: `[...] [rlvr_pipeline.py (838)] [INFO] [DRIVER 0 / 1][PID 42] {"system/global_step": 7, ...}`.

With its stdout tracker the same metrics come a second time, behind `metrics_tag: `; they are merged. A key may carry
the way it was reduced, `@sum`, which is taken off, as its own trackers do. Steps count from 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.line_reader import LineReader, json_object, numbers, step_of

if TYPE_CHECKING:
    from grpotui_supervisor.logs.line_reader import Pair

_JSON = re.compile(r"\[PID [0-9]+\] (metrics_tag: )?(?=\{\")")
_PIPELINE = re.compile(r"\[PID [0-9]+\] pipeline (?:step ([0-9]{1,15}) (start\.\.\.|finished)|complete!)")
_GROUPS = ("system/", "time/", "actor/", "actor_train/", "critic/", "rollout/", "token/", "tokens/", "env/", "val/")
_STEP = "system/global_step"
_FEWEST = 3


class RollReader(LineReader):
    """One ROLL run, from the output of its driver or the log file of that rank."""

    framework = "roll"

    def __init__(self) -> None:
        super().__init__()
        self._at: int | None = None

    def _read(self, line: str, stream: str) -> None:  # noqa: ARG002
        if "[PID " not in line:
            return
        if found := _PIPELINE.search(line):
            self._read_progress(found)
        elif (found := _JSON.search(line)) and (row := json_object(line[found.end() :].rstrip())) is not None:
            self._read_row(row, tagged=found[1] is not None)

    def _read_progress(self, found: re.Match[str]) -> None:
        if found[1] is None:
            self.training_complete = True
            return
        self._at = int(found[1])
        if found[2] == "finished":
            self.step = self._at

    def _read_row(self, row: dict[str, object], *, tagged: bool) -> None:
        metrics = row.get("metrics") if tagged else row
        if not isinstance(metrics, dict):
            return
        pairs: list[Pair] = [(key.rpartition("@")[0] or key, value) for key, value in numbers(metrics)]
        if len(pairs) < _FEWEST or not any(key.startswith(_GROUPS) for key, _ in pairs):
            return
        step = step_of(row.get("step") if tagged else dict(pairs).get(_STEP))
        if step is None:
            step = UNKNOWN_STEP if self._at is None else self._at
        self._record(step, pairs)
