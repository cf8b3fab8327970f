"""Reads open-instruct: a panel `╭─── Metrics ───╮` with one row a category, `time   total: 61.20 | training: 20.10`.

A row is wrapped at the width of the console, 80 columns when the output is a pipe. Numbers have two decimals. The
category `other` holds the keys that have none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.line_reader import LineReader, step_of
from grpotui_supervisor.logs.reader import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.logs.line_reader import Pair

_TOP = re.compile(r"╭─+ Metrics ─+╮ *")
_CATEGORY = re.compile(r" {1,3}(\S{1,100}) {2,}(\S.*)")
_ROWS = 1000
_STEP = "training_step"


class OpenInstructReader(LineReader):
    """One open-instruct run, from the output of its driver."""

    framework = "open-instruct"

    def __init__(self) -> None:
        super().__init__()
        self._panels: dict[str, list[list[str]]] = {}

    def _read(self, line: str, stream: str) -> None:
        if line.startswith("│"):
            panel = self._panels.get(stream)
            if panel is not None and len(panel) < _ROWS:
                _take(panel, line.rstrip(" ").strip("│").rstrip(" "))
        elif line.startswith("╭"):
            self._panels.pop(stream, None)
            if _TOP.fullmatch(line):
                self._panels[stream] = []
        elif stream in self._panels:
            panel = self._panels.pop(stream)
            if line.startswith("╰"):
                self._end_panel(dict(_pairs(panel)))

    def _end_panel(self, found: dict[str, float]) -> None:
        step = step_of(found.get(_STEP))
        if step is not None:
            self.step = step
        if found:
            self._record(UNKNOWN_STEP if step is None else step, found.items())


def _take(panel: list[list[str]], text: str) -> None:
    """One line of a panel: a category and its text, or more of the text before."""
    if category := _CATEGORY.fullmatch(text):
        panel.append([category[1], category[2]])
    elif panel:
        panel[-1].append(text.strip())


def _pairs(panel: list[list[str]]) -> Iterator[Pair]:
    for category, *texts in panel:
        for field in " ".join(texts).split(" | "):
            key, _, text = field.strip(" |").rpartition(": ")
            value = number(text)
            if key and value is not None:
                yield (key if category == "other" else f"{category}/{key}"), value
