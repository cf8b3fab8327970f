"""Reads torchforge: `=== [GlobalReduce] - METRICS STEP 3 ===` and one `key: value` a line behind it."""

from __future__ import annotations

import re

from grpotui_supervisor.logs.line_reader import LineReader, Row
from grpotui_supervisor.logs.reader import number

_HEADER = re.compile(r"=== \[[^\]]{1,100}\] - METRICS STEP ([0-9]{1,15}) ===\s*")
_METRIC = re.compile(r" *([\w./@-]{1,300}): +(\S{1,60}) *")


class TorchforgeReader(LineReader):
    """One torchforge run, from the output of its controller."""

    framework = "torchforge"

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, Row] = {}

    def _read(self, line: str, stream: str) -> None:
        if "METRICS STEP" in line and (header := _HEADER.search(line)):
            self.step = int(header[1])
            self._rows[stream] = Row(self.columns, self.step)
        elif stream in self._rows:
            metric = _METRIC.fullmatch(line)
            value = number(metric[2]) if metric else None
            if metric and value is not None:
                self._rows[stream].put([(metric[1], value)])
            else:
                del self._rows[stream]
