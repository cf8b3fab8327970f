"""Reads EasyR1: `Step 7` and a YAML document on the console, or its experiment_log.jsonl.

The console rounds to three decimals, the file does not. In some set-ups a NumPy number is not printed as a number but
as YAML's binary form of eight little-endian bytes in base64; it is decoded, never loaded. Lines of YAML are taken one
by one: the document has no end of its own.
"""

from __future__ import annotations

import binascii
import re
import struct
from base64 import b64decode
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.line_reader import LineReader, Row, json_object, numbers, split_actor, step_of
from grpotui_supervisor.logs.reader import number

if TYPE_CHECKING:
    from grpotui_supervisor.logs.columns import Columns

_GROUPS = (
    "actor",
    "critic",
    "reward",
    "val",
    "perf",
    "global_seqlen",
    "num_turns",
    "prompt_length",
    "response_length",
    "timing_s",
    "timing_per_token_ms",
)
_STEP = re.compile(r"Step ([0-9]{1,15}) *")
_ENTRY = re.compile(r"( *)([\w@.+/-]{1,200}): ?(.*)")
_BASE64 = re.compile(r"([A-Za-z0-9+/]{4,12}={0,2})")
_YAML = {".nan": "nan", ".inf": "inf", "-.inf": "-inf"}
_NUMPY = "!!python/object/apply:numpy"
_DTYPE = re.compile(r"- [&*](id[0-9]{1,6})(?: .*)?")
_NUMPY_LINES = 30
_FORMATS = {"f8": "<d", "f4": "<f", "i8": "<q", "i4": "<i"}


class EasyR1Reader(LineReader):
    """One EasyR1 run, from the output of its driver or the file that it writes."""

    framework = "easyr1"

    def __init__(self) -> None:
        super().__init__()
        self._documents: dict[str, _Document] = {}

    def _read(self, line: str, stream: str) -> None:
        if line.startswith('{"step": '):
            self._read_json(line)
            return
        actor, text = split_actor(line)
        document = self._documents.get(stream)
        if document is not None and document.actor == actor:
            if document.take(text):
                self._take_value(document)
                return
            del self._documents[stream]
        if text.startswith("Step ") and (step := _STEP.fullmatch(text)):
            self._documents[stream] = _Document(self.columns, actor, int(step[1]))

    def _read_json(self, line: str) -> None:
        found = json_object(line)
        step = step_of(found.pop("step", None)) if found else None
        if found and step is not None and any(isinstance(found.get(group), dict) for group in _GROUPS):
            self.step = step
            self._record(step, numbers(found))

    def _take_value(self, document: _Document) -> None:
        if document.found is not None:
            self.step = document.step
            document.row.put([document.found])
            document.found = None


class _Document:
    """The YAML document of one step, so far."""

    def __init__(self, columns: Columns, actor: str, step: int) -> None:
        self.actor = actor
        self.step = step
        self.row = Row(columns, step)
        self.found: tuple[str, float] | None = None
        """The value that the last line completed."""
        self._path: list[tuple[int, str]] = []
        self._key = ""
        self._left = 0
        self._binary = False
        self._dtype = ""
        self._formats: dict[str, str] = {}

    def take(self, text: str) -> bool:
        """Read the next line. False: it is not of this document."""
        entry = _ENTRY.fullmatch(text)
        if self._key and not (entry and self._is_sibling(entry)):
            return self._take_numpy(text.strip())
        if entry is None:
            return False
        self._key = ""
        return self._take_entry(len(entry[1]), entry[2], entry[3].strip())

    def _is_sibling(self, entry: re.Match[str]) -> bool:
        """Whether a line ends the NumPy object before it: `args:` and `state:` are parts of one."""
        return len(entry[1]) <= self._path[-1][0]

    def _take_entry(self, indent: int, key: str, text: str) -> bool:
        while self._path and self._path[-1][0] >= indent:
            self._path.pop()
        if not self._path and (indent or key not in _GROUPS or text):
            return False
        self._path.append((indent, key))
        value = number(_YAML.get(text, text))
        if value is not None:
            self.found = self._name(), value
        elif text.startswith(_NUMPY):
            self._key, self._left, self._binary = self._name(), _NUMPY_LINES, False
        return True

    def _name(self) -> str:
        return "/".join(key for _, key in self._path)

    def _take_numpy(self, text: str) -> bool:
        """Read a line inside a NumPy object: its type, or a reference to one named before, then the number."""
        self._left -= 1
        if self._binary:
            encoded = _BASE64.fullmatch(text)
            value = _decoded(encoded[1], self._formats.get(self._dtype, "")) if encoded else None
            if value is not None:
                self.found = self._key, value
            self._key = ""
        elif dtype := _DTYPE.fullmatch(text):
            self._dtype = dtype[1]
        elif text.startswith("- ") and text[2:] in _FORMATS:
            self._formats[self._dtype] = _FORMATS[text[2:]]
        self._binary = text == "- !!binary |"
        return self._left > 0


def _decoded(text: str, form: str) -> float | None:
    try:
        return float(struct.unpack(form, b64decode(text))[0]) if form else None
    except (binascii.Error, struct.error):
        return None
