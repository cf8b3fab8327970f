"""Reads OpenRLHF: `ppo_trainer.py:547] ✨ Global step 7: {'reward': 0.4, 'timing/generation': 2.9, ...}`.

Before 0.8 there was no such line, only the metrics behind a progress bar, as SkyRL's first versions had them too:
`Train epoch [1/1]: 50%|#| 1/2 [00:02<00:02, pg=-0.09, rm=0.4, glen=104]`. Newer versions draw that bar as well, so
what it gave is dropped with the first `Global step`, which says all of it again. A bar does not tell the step.
"""

from __future__ import annotations

import re

from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns
from grpotui_supervisor.logs.line_reader import LineReader, dict_pairs, dicts_after
from grpotui_supervisor.logs.reader import number

_GLOBAL = re.compile(r"Global step ([0-9]{1,15})(?: \[replay\])?: \{(?=['\"])")
_BAR = re.compile(r"Train epoch \[[0-9]+/[0-9]+\]:[^\[]*\[[^\]=]*?, (\w+=[^,\]\s=]+(?:, \w+=[^,\]\s=]+)*)\]")
_OF_A_BAR = frozenset({"pg", "rm", "glen"})
"""Postfix names before 0.8; since then they are `act_loss`, `reward`, `gen_len`."""


class OpenRlhfReader(LineReader):
    """One OpenRLHF run, from the output of its driver."""

    framework = "openrlhf"

    def __init__(self) -> None:
        super().__init__()
        self._bars = True
        self._last_bar = ""

    def _read(self, line: str, stream: str) -> None:  # noqa: ARG002
        if "Global step " in line:
            for found, body in dicts_after(_GLOBAL, line):
                self._read_step(int(found[1]), body)
        elif self._bars and "Train epoch [" in line:
            self._read_bar(line)

    def _read_step(self, step: int, text: str) -> None:
        pairs = list(dict_pairs(text))
        if not pairs:
            return
        if self._bars:
            self._bars, self.columns = False, Columns()
        self.step = step
        self._record(step, pairs)

    def _read_bar(self, line: str) -> None:
        found = _BAR.search(line)
        if found is None or found[1] == self._last_bar:  # a bar is drawn again when its count moves on
            return
        texts = dict(part.split("=") for part in found[1].split(", "))
        if texts.keys() & _OF_A_BAR:
            self._last_bar = found[1]
            values = {key: number(text) for key, text in texts.items()}
            self.columns.record(UNKNOWN_STEP, ((k, v) for k, v in values.items() if v is not None))
