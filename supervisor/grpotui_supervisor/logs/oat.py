"""Reads Oat: a dictionary printed over many lines, by rich (`│   'actor/rewards': 0.42,`) or by pprint.

The step is its `misc/global_step`.
"""

from __future__ import annotations

import re

from grpotui_supervisor.logs.line_reader import LineReader, dict_pairs, split_actor, step_of

_PREFIX = re.compile(r"\[[\w/-]{1,40}\] ")
_STEP = "misc/global_step"
_LINES = 400


class OatReader(LineReader):
    """One Oat run, from the output of its learner."""

    framework = "oat"

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[str, list[str]] = {}

    def _read(self, line: str, stream: str) -> None:
        body = self._body(line)
        if body == "{" or body.startswith("{'"):
            self._open[stream] = []
        lines = self._open.get(stream)
        if lines is None:
            return
        lines.append(body)
        if body.endswith("}"):
            del self._open[stream]
            self._read_dict("\n".join(lines))
        elif body[:1] not in {"{", "'"} or len(lines) > _LINES:
            del self._open[stream]

    def _body(self, line: str) -> str:
        text = split_actor(line)[1]
        if text.startswith("[") and (prefix := _PREFIX.match(text)):
            text = text[prefix.end() :]
        return text.strip("│ ")

    def _read_dict(self, text: str) -> None:
        found = dict(dict_pairs(text))
        step = step_of(found.get(_STEP))
        if step is not None:
            self.step = step
            self._record(step, found.items())
