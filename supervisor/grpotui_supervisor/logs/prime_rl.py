"""Reads prime-rl: `12:00:01 SUCCESS Step 7 |  1m 5s | Loss 0.0012 | Entropy 0.37 | ...`, or its metrics.jsonl.

Trainer and orchestrator print a line each for a step, and both append rows to the same file; each has its own step
time, and the orchestrator's gets its name in front. Until 0.5 a colon stood behind each name. Numbers are as printed:
percentages as percent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.line_reader import LineReader, json_object, numbers, step_of
from grpotui_supervisor.logs.reader import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.logs.line_reader import Pair

_LINE = re.compile(
    r"\b(?:SUCCESS|INFO) +(?:\[[\w-]+\] )?(?:Step ([0-9]{1,15})|Evaluated (\S+) \(Step ([0-9]{1,15})\)) \| (.*)"
)
_FIELD = re.compile(
    r"([A-Z][A-Za-z. -]{0,60}?):? ([-+]?(?:[0-9.]{1,30}(?:e[-+]?[0-9]{1,3})?|nan|inf))(?:%|/[0-9]+)?(?: .*)?"
)
_OF = re.compile(r"([A-Z][A-Za-z. -]{0,60}?):? [0-9]+/([0-9]{1,15})(?: .*)?")
_DURATION = re.compile(r"(?:Time: ?)?((?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:ms|[dhms]) ?)+)")
_UNIT = re.compile(r"([0-9.]+)(ms|[dhms])")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_ENDED = re.compile(r"\bSUCCESS +(?:\[[\w-]+\] )?(?:Training finished!|RL trainer finished!|Orchestrator finished\.)")
_ROW = re.compile(r'\{"step": [0-9]+, "time": [0-9]')
_TRAINER = "time/forward_backward"


class PrimeRlReader(LineReader):
    """One prime-rl run, from the trainer's or the orchestrator's log, both in one, or metrics.jsonl."""

    framework = "prime-rl"

    def _read(self, line: str, stream: str) -> None:  # noqa: ARG002
        if line.startswith("{"):
            self._read_row(line)
        elif "Step " in line and (found := _LINE.search(line)):
            self._read_line(found)
        elif "SUCCESS" in line:
            self.training_complete |= _ENDED.search(line) is not None

    def _read_line(self, found: re.Match[str]) -> None:
        fields = list(_fields(found[4]))
        if not fields:
            return
        if found[2] is not None:
            self.columns.record(int(found[3]), ((f"eval/{found[2]}/{key}", value) for key, value in fields))
        elif any(key in {"Loss", "Reward"} for key, _ in fields):
            self.step = int(found[1])
            self.columns.record(self.step, _named(fields))

    def _read_row(self, line: str) -> None:
        row = json_object(line) if _ROW.match(line) else None
        step = step_of(row.pop("step", None)) if row else None
        if row is None or step is None:
            return
        row.pop("time", None)
        if "time/step" in row and _TRAINER not in row:
            row["orchestrator/time/step"] = row.pop("time/step")
        if not any(key.startswith("eval/") for key in row):
            self.step = max(step, self.step or 0)
        self.columns.record(step, numbers(row))


def _named(fields: list[Pair]) -> Iterator[Pair]:
    """The fields of a step, the orchestrator's time under a name of its own."""
    trainer = any(key == "Loss" for key, _ in fields)
    for key, value in fields:
        yield ("orchestrator/" + key if key == "step_time" and not trainer else key), value


def _fields(text: str) -> Iterator[Pair]:
    for part in text.split(" | "):
        field = part.strip()
        if duration := _DURATION.fullmatch(field):
            yield "step_time", sum(float(count) * _SECONDS[unit] for count, unit in _UNIT.findall(duration[1]))
        elif (found := _FIELD.fullmatch(field)) and (value := number(found[2])) is not None:
            yield found[1], value
            if of := _OF.fullmatch(field):
                yield of[1] + " of", float(of[2])
