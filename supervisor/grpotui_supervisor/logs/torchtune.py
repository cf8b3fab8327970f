"""Reads torchtune's GRPO recipes: `Step 3 | rewards:0.31 successes:0.2 kl_loss:0.0003 `."""

from __future__ import annotations

import re

from grpotui_supervisor.logs.line_reader import LineReader
from grpotui_supervisor.logs.reader import number

_LINE = re.compile(r"Step ([0-9]{1,15}) \| (.*)")
_KNOWN = frozenset({"rewards", "successes", "kl_loss", "policy_loss", "loss", "clipfrac", "response_lengths"})


class TorchtuneReader(LineReader):
    """One torchtune run; its asynchronous recipe prints several lines a step, which are merged."""

    framework = "torchtune"

    def _read(self, line: str, stream: str) -> None:  # noqa: ARG002
        found = _LINE.fullmatch(line) if line.startswith("Step ") else None
        if found is None:
            return
        texts = [field.rpartition(":")[::2] for field in found[2].split()]
        pairs = [(key, value) for key, text in texts if (value := number(text)) is not None]
        if len(pairs) == len(texts) and any(key.rpartition("/")[2] in _KNOWN for key, _ in pairs):
            self.step = int(found[1])
            self._record(self.step, pairs)
