"""Reads LLaMA-Factory: `{'loss': 0.2, 'reward': 0.36, 'learning_rate': 1e-05, 'epoch': 0.1}`, or trainer_log.jsonl.

Its PPO trainer prints exactly these four; every other trainer of it is a Hugging Face one and read as such. The console
does not tell the step, the file does.
"""

from __future__ import annotations

import re

from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.line_reader import LineReader, dict_pairs, dicts_after, json_object, numbers, step_of

_DICT = re.compile(r"\{(?='loss': )")
_KEYS = ["loss", "reward", "learning_rate", "epoch"]
_ROW = '{"current_steps": '


class LlamaFactoryReader(LineReader):
    """One run of LLaMA-Factory's PPO, or of any of its trainers from the file that they write."""

    framework = "llama-factory"

    def __init__(self, *, logging_steps: int | None = None) -> None:
        super().__init__()
        self._every = logging_steps if logging_steps and logging_steps > 0 else None

    def _read(self, line: str, stream: str) -> None:  # noqa: ARG002
        if line.startswith(_ROW):
            self._read_row(line)
        elif "{'loss': " in line:
            for _, body in dicts_after(_DICT, line):
                pairs = list(dict_pairs(body))
                if [key for key, _ in pairs] == _KEYS and body.count(":") == len(_KEYS):
                    self._read_dict(pairs)

    def _read_dict(self, pairs: list[tuple[str, float]]) -> None:
        step = UNKNOWN_STEP
        if self._every is not None:
            self.step = step = (len(self.columns) + 1) * self._every
        self.columns.record(step, pairs)

    def _read_row(self, line: str) -> None:
        row = json_object(line)
        step = step_of(row.pop("current_steps", None)) if row else None
        if row is None or step is None:
            return
        self.steps_total = step_of(row.pop("total_steps", None))
        self.step = max(step, self.step or 0)
        self.training_complete |= self.steps_total is not None and self.step >= self.steps_total
        pairs = list(numbers(row))
        if pairs:
            self._record(step, pairs)
