"""Reads SkyRL: `... | INFO | skyrl.train.utils.tracking:log:189 - Step 7: ` and a dictionary over many lines.

That is its console logger; the numbers are quoted and have four decimals. With any other (wandb is the default) no
step is told: timers, averages and one dictionary of losses a step become one row of unknown step. Both print the
losses; where steps are told, the rows without are dropped. `Finished: 'policy_train'` is printed by a failed step
too, so it counts only with the losses of its step.
"""

from __future__ import annotations

import re

from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns
from grpotui_supervisor.logs.line_reader import LineReader, Pair, dict_pairs, dicts_after, split_actor
from grpotui_supervisor.logs.reader import BAR, number

_TIMER = re.compile(r"Finished: '([^']{1,100})', time cost: ([0-9.]{1,30})s")
_AVERAGES = re.compile(r" - ((?:[\w/@.-]+: [^,\s]+, )*(?:avg_final_rewards|reward/avg_raw_reward): .*)$")
_LOSSES = re.compile(r"\| INFO +\| \S+ - \{(?=')")
_STEP = re.compile(r"\| INFO +\| \S+ - Step ([0-9]{1,15}): *$")
_BAR = re.compile(rf"Training (?:Batches Processed|Step Progress): *{BAR}")
_LIMIT = 1000
"""Lines of a dictionary, and values that wait for their row."""


class SkyRlReader(LineReader):
    """One SkyRL run, from the output of its driver."""

    framework = "skyrl"

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[str, float] = {}
        self._console = False
        self._blocks: dict[str, _Block] = {}

    def _read(self, line: str, stream: str) -> None:
        block = self._blocks.get(stream)
        if block is not None:
            mine = self._continue(block, line)
            if block.ended or not mine:
                del self._blocks[stream]
                self._end_block(block.step, block.pairs)
            if mine:
                return
        if "Training" in line:
            self._read_progress(line)
        if "| INFO" in line:
            self._read_message(line, stream)

    def _continue(self, block: _Block, line: str) -> bool:
        """Whether the line is one of the block's dictionary, or of another actor in between."""
        actor, text = split_actor(line)
        return actor != block.actor or block.take(text)

    def _read_progress(self, line: str) -> None:
        if bar := _BAR.search(line):
            self.step, self.steps_total = int(bar[1]), int(bar[2])
        self.training_complete |= "| INFO" in line and line.endswith(" - Training done!")

    def _read_message(self, line: str, stream: str) -> None:
        if timer := _TIMER.search(line):
            self._keep("timing/" + timer[1], timer[2])
        elif averages := _AVERAGES.search(line):
            for part in averages[1].split(", "):
                key, _, text = part.partition(": ")
                self._keep(key, text)
        elif step := _STEP.search(line):
            self._blocks[stream] = _Block(split_actor(line)[0], int(step[1]))
        else:
            for _, body in dicts_after(_LOSSES, line):
                self._read_losses(list(dict_pairs(body)))

    def _keep(self, key: str, text: str) -> None:
        value = number(text)
        if value is not None and len(self._pending) < _LIMIT:
            self._pending[key] = value

    def _read_losses(self, pairs: list[Pair]) -> None:
        keys = {key for key, _ in pairs}
        if keys & {"final_loss", "policy_loss"} and keys & {"policy_lr", "policy_entropy", "policy_kl"}:
            if not self._console:
                self.columns.record(UNKNOWN_STEP, [*self._pending.items(), *pairs])
            self._pending.clear()

    def _end_block(self, step: int, pairs: list[Pair]) -> None:
        if not pairs:
            return
        if not self._console:
            self._console, self.columns = True, Columns()
        self.step = step
        self._record(step, pairs)


class _Block:
    """A dictionary over many lines."""

    def __init__(self, actor: str, step: int) -> None:
        self.actor = actor
        self.step = step
        self.pairs: list[Pair] = []
        self.ended = False
        self._left = _LIMIT

    def take(self, text: str) -> bool:
        """Read the next line. False: it is not one of the dictionary, which ends without it."""
        body = text.strip()
        self._left -= 1
        if body[:1] not in {"'", "{", "}", '"'} or not self._left:
            return False
        self.pairs += dict_pairs(body)
        self.ended = body.endswith("}")
        return True
