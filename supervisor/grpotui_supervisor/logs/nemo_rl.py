"""Reads NeMo-RL: a header `===== Step 3/100 =====`, then blocks of `• Name: value` under `📊 Training Results:`.

The step starts at 1 in every epoch, except with several data loaders; it is counted on when a new epoch is seen to
begin again at a lower step. Lines of the blocks are taken one by one, since nothing marks their end. Numbers have four
decimals, and many metrics go only to TensorBoard or wandb.
"""

from __future__ import annotations

import re

from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.line_reader import LineReader, Row, split_actor
from grpotui_supervisor.logs.reader import number

_HEADER = re.compile(r"=+ (Step|Epoch) ([0-9]{1,12})/([0-9]{1,12}) =+")
_BULLET = re.compile(
    r" *[•-] (\w[\w /().-]{0,100}?): ([-+]?[0-9.]{1,40}(?:e[-+]?[0-9]{1,3})?|nan|-?inf)"
    r"(?:s|%| tokens| steps)?(?: \(.*\))?"
)
_EPOCHS = 10_000
_TRAINING = "📊 Training Results:"
_VALIDATION = "📊 Validation Results:"


class NemoRlReader(LineReader):
    """One NeMo-RL run, from the output of its driver."""

    framework = "nemo-rl"

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, Row] = {}
        self._validating = False
        self._at: int | None = None
        self._epoch: int | None = None
        self._epochs: int | None = None
        self._new_epoch = False
        self._before = 0
        self._offsets: dict[int, int] = {}

    def _read(self, line: str, stream: str) -> None:
        text = split_actor(line)[1]
        body = text.strip()
        if body.startswith("=") and (header := _HEADER.fullmatch(body)):
            self._rows.pop(stream, None)
            self._read_header(header)
        elif body in (_TRAINING, _VALIDATION):
            self._validating = body == _VALIDATION
            if not self._validating or stream not in self._rows:
                self._rows[stream] = Row(self.columns, UNKNOWN_STEP if self._at is None else self._at)
            if not self._validating and self._at is not None:
                self._done(self._at)
        elif body.startswith("📊"):  # bullets of something else
            self._rows.pop(stream, None)
        elif stream in self._rows and (bullet := _BULLET.fullmatch(text)):
            self._read_bullet(bullet, stream)

    def _read_header(self, header: re.Match[str]) -> None:
        count, total = int(header[2]), int(header[3])
        if header[1] == "Epoch":
            self._new_epoch = self._epoch is not None and count > self._epoch
            if count in self._offsets:  # a run that starts again
                self._before, self._at = self._offsets[count], None
            self._epoch, self._epochs = count, total
            return
        done = (self._at or 0) - self._before
        if self._new_epoch and count <= done:
            self._before += done
        self._new_epoch = False
        if self._epoch is not None and len(self._offsets) < _EPOCHS:
            self._offsets[self._epoch] = self._before
        self._at = self._before + count
        self.steps_total = total if self._epochs in (None, 1) else None

    def _done(self, step: int) -> None:
        self.step = step
        self.training_complete |= self.steps_total is not None and step >= self.steps_total

    def _read_bullet(self, bullet: re.Match[str], stream: str) -> None:
        value = number(bullet[2])
        if value is not None:
            key = "validation/" + bullet[1] if self._validating else bullet[1]
            self._rows[stream].put([(key, value)])
