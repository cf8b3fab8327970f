"""Reads `trainer_state.json`, which the Hugging Face Trainer writes beside each checkpoint.

`log_history` holds what was printed, with the step and with all digits: good to fill in what a log leaves out, too
late to watch a run. The file is not written at once: what is there of it is read. NaN is the bare word `NaN`, as
Python writes it; TRL 1.x writes null for a missing value.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from json.decoder import JSONDecoder
from typing import ClassVar, Final

from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns
from grpotui_supervisor.logs.hf_kinds import Kind, printed

PART_LIMIT: Final = 1 << 16
"""Characters of one entry, and of what stands before and behind the history; entries have about 40 numbers."""

_HISTORY = re.compile(r'"log_history"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_FACT = re.compile(r'"(global_step|max_steps|logging_steps)"\s*:\s*([0-9]{1,15})(?=[\s,}])')

_decode = JSONDecoder(parse_int=float).raw_decode


class TrainerStateReader:
    """One state file, from its beginning.

    Attributes:
        logging_steps: the trainer's setting, with which the reader of the same run's log can count.
    """

    framework: ClassVar[str] = "trl"

    def __init__(self) -> None:
        self.columns = Columns()
        self.training_complete = False
        self._facts: dict[str, int] = {}
        self._last: int | None = None
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._part = self._before

    @property
    def step(self) -> int | None:
        """The step of the checkpoint, or of the last entry where the file does not tell."""
        return self._facts.get("global_step", self._last)

    @property
    def steps_total(self) -> int | None:
        """How many steps the run was to make."""
        return self._facts.get("max_steps")

    @property
    def logging_steps(self) -> int | None:
        """None where the file does not tell, as before transformers 4.30, or is not whole."""
        return self._facts.get("logging_steps")

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:  # noqa: ARG002
        """Read the next bytes of the file."""
        self._text += self._decoder.decode(block)
        while self._part():
            pass

    def _before(self) -> bool:
        """Each part of the file has such a function; true when the next part is to be read."""
        begin = _HISTORY.search(self._text)
        if begin is None or begin.end() > PART_LIMIT:
            foreign = self._text.lstrip()[:1] not in ("", "{")
            return self._give_up(foreign or len(self._text) > PART_LIMIT)
        self._take_facts(self._text[: begin.end()])
        self._text = self._text[begin.end() :]
        self._part = self._history
        return True

    def _history(self) -> bool:
        start = _end_of(_BETWEEN, self._text, 0)
        while self._text.startswith("{", start):
            try:
                entry, end = _decode(self._text, start)
            except (ValueError, RecursionError):
                break
            if end - start > PART_LIMIT:
                return self._give_up(True)
            self._take(entry)
            start = _end_of(_BETWEEN, self._text, end)
        self._text = self._text[start:]
        if self._text.startswith("]"):
            self._part = self._behind
            return True
        return self._give_up(self._text[:1] not in ("", "{") or len(self._text) > PART_LIMIT)

    def _behind(self) -> bool:
        self._text = self._text[:PART_LIMIT]
        self._take_facts(self._text)
        return False

    def _give_up(self, really: bool) -> bool:
        if really:
            self._part = self._nothing
        return really

    def _nothing(self) -> bool:
        self._text = ""
        return False

    def _take(self, entry: dict[str, object]) -> None:
        values = {key: value for key, value in entry.items() if value is None or isinstance(value, float | str)}
        found = printed(values)
        if found is None:
            return
        if found.step is not None:
            self._last = found.step
        if found.kind is Kind.END:
            self.training_complete = True
        else:
            found.metrics.pop("step", None)
            self.columns.record(UNKNOWN_STEP if found.step is None else found.step, found.metrics.items())

    def _take_facts(self, text: str) -> None:
        self._facts.update((name, int(number)) for name, number in _FACT.findall(text))


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start
