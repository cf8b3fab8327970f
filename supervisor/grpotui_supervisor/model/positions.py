"""Where each key of a TOML text stands, as line and column.

`tomllib` gives values without their places, so this reads the text once more and knows only enough TOML to
tell a key from what is inside a string, an array or a comment. It never raises: in a text that `tomllib`
refuses, the places are a best effort.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

KeyPath = tuple[str | int, ...]
"""Table and key names from the top of the document; a number is the index in an array."""

# Possessive repeats (`++`, `*+`): an unclosed quote must not send the expression back over a whole file.
_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BASIC = r'"(?:[^"\\\n]|\\.)*+"'
_LITERAL = r"'[^'\n]*+'"
_PART = re.compile(rf"[A-Za-z0-9_-]++|{_BASIC}|{_LITERAL}")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_HEADER_END = re.compile(r"[ \t]*\]{0,2}")
# A multi-line string may end in up to two quotes of its own before the three that close it.
_LONG_BASIC = r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*+"{3,5}'
_LONG_LITERAL = r"'''(?:[^']|'(?!''))*+'{3,5}"
_STRING = re.compile(rf"{_LONG_BASIC}|{_LONG_LITERAL}|{_BASIC}|{_LITERAL}")
_BARE_VALUE = re.compile(r"[^,\]}#\n]*")
# Deeper than tomllib reads. Each level copies its path, so without an end 900,000 brackets would take all memory.
_DEEPEST = 1000
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The place of one key."""

    line: int
    """From 1."""
    column: int
    """From 1, in characters (code points)."""
    width: int
    """Characters that the key takes, with its quotes."""


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of a dotted key."""

    name: str
    start: int
    """Offset of its first character."""
    end: int
    """Offset behind its last character."""


def spelled(path: KeyPath) -> str:
    """Return the path as a person would write it: `launch.env."A B"`, `launch.argv[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _PLAIN_KEY.fullmatch(part) else repr(part))
    return text


def read_key(text: str, at: int = 0) -> tuple[tuple[KeyPart, ...], int]:
    """Read one dotted key; return its parts (none: there is no key) and the offset behind it."""
    parts: list[KeyPart] = []
    end, start = at, at
    while found := _PART.match(text, start):
        end = found.end()
        parts.append(KeyPart(_unquoted(found.group()), start, end))
        dot = _DOT.match(text, end)
        if dot is None:
            break
        start = dot.end()
    return tuple(parts), end


def positions(text: str) -> dict[KeyPath, Place]:
    """Return the place of every table and key; elements of arrays have none of their own."""
    scanner = _Scanner(text)
    scanner.run()
    return scanner.places


def nearest_place(places: Mapping[KeyPath, Place], path: KeyPath) -> Place | None:
    """Return the place of `path`, else of the closest table or key around it, else None."""
    for length in range(len(path), 0, -1):
        if place := places.get(path[:length]):
            return place
    return None


def _unquoted(word: str) -> str:
    if word[0] == '"' and "\\" in word:
        try:
            return str(tomllib.loads(f"key = {word}")["key"])
        except tomllib.TOMLDecodeError:
            return word
    return word[1:-1] if word[0] in "\"'" else word


@dataclass(slots=True)
class _Open:
    """An array or inline table that is not closed yet."""

    path: KeyPath
    index: int
    """Of the array element being read; -1 in an inline table."""


class _Scanner:
    """One pass over a text; `places` is what it found."""

    def __init__(self, text: str) -> None:
        self.places: dict[KeyPath, Place] = {}
        self._text = text
        self._at = 0
        self._line_starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._table: KeyPath = ()
        self._array_lengths: dict[KeyPath, int] = {}  # of arrays of tables only

    def run(self) -> None:
        while self._skip(_BLANK) < len(self._text):
            start = self._at
            if self._text[start] == "[":
                self._header()
            else:
                self._pair()
            self._at = max(self._at, start + 1)  # what is no TOML is stepped over

    def _skip(self, expression: re.Pattern[str]) -> int:
        if found := expression.match(self._text, self._at):
            self._at = found.end()
        return self._at

    def _header(self) -> None:
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        self._skip(_BLANK)
        parts, self._at = read_key(self._text, self._at)
        self._skip(_HEADER_END)
        if parts:
            self._table = self._named((), parts)
            if is_array:
                self._table = self._next_element(parts[-1])

    def _next_element(self, part: KeyPart) -> KeyPath:
        # `_named` went into the newest element of the array if there was one: come out of it again.
        path = self._table[:-1] if isinstance(self._table[-1], int) else self._table
        index = self._array_lengths.get(path, 0)
        self._array_lengths[path] = index + 1
        self.places[*path, index] = self._place(part)
        return (*path, index)

    def _pair(self) -> None:
        parts, self._at = read_key(self._text, self._at)
        if parts:
            path = self._named(self._table, parts)
            self._skip(_EQUALS)
            self._value(path)

    def _named(self, path: KeyPath, parts: tuple[KeyPart, ...]) -> KeyPath:
        """Note the place of each part; return the path that the whole key stands for."""
        for part in parts[:_DEEPEST]:
            path = (*path, part.name)
            is_array = path in self._array_lengths
            if part is parts[-1] and not is_array:
                self.places[path] = self._place(part)  # a table's own header wins over `[table.inner]` before it
            else:
                self.places.setdefault(path, self._place(part))
            if is_array:
                path = (*path, self._array_lengths[path] - 1)
        return path

    def _place(self, part: KeyPart) -> Place:
        line = bisect_right(self._line_starts, part.start)
        return Place(line, part.start - self._line_starts[line - 1] + 1, part.end - part.start)

    def _value(self, path: KeyPath) -> None:
        """Step over one value, noting the keys of inline tables in it; without recursion, however deep."""
        nested: list[_Open] = []
        while self._at < len(self._text) and len(nested) <= _DEEPEST:
            char = self._text[self._at]
            if char in "[{":
                self._at += 1
                nested.append(_Open(path, 0 if char == "[" else -1))
            elif char in ",]}":
                self._at += 1
                _separate(nested, char)
            elif found := _STRING.match(self._text, self._at) or _BARE_VALUE.match(self._text, self._at):
                self._at = max(found.end(), self._at + 1)
            if not nested:
                return
            path = self._inside(nested[-1])

    def _inside(self, around: _Open) -> KeyPath:
        """Go to the next value or sign inside brackets; return the path of a value that starts here."""
        self._skip(_BLANK)
        if around.index >= 0:
            return (*around.path, around.index)
        parts, self._at = read_key(self._text, self._at)
        if not parts:
            return around.path
        path = self._named(around.path, parts)
        self._skip(_EQUALS)
        return path


def _separate(nested: list[_Open], char: str) -> None:
    if char != ",":
        del nested[-1:]
    elif nested and nested[-1].index >= 0:
        nested[-1].index += 1
