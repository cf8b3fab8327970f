"""TOML documents for property tests, each with the place where every key was written."""

import json
import re
from dataclasses import dataclass, field

from hypothesis import strategies as st

Path = tuple[str | int, ...]

# Names and texts that look like other parts of the language are the ones that lead a scanner astray.
_TRAPS = [
    "a",
    "b",
    "launch",
    "x-1",
    "1",
    "",
    " ",
    "a.b",
    "k = 1",
    "#",
    "[t]",
    "'",
    '"',
    "é",
    "日本",
    "\\",
    "\t",
    "]",
    "},",
]
_NAMES = st.sampled_from(_TRAPS) | st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=4)
_TEXTS = st.lists(
    st.sampled_from([*_TRAPS, "\n", "a = 1\n", "[table]\n", '""', "''", '"""', "# no comment"]), max_size=4
)
_SCALARS = st.sampled_from(["0", "-17", "0xff", "1_000", "3.5e2", "-nan", "true", "1979-05-27T07:32:00Z", "07:32:00"])
_BLANKS = st.sampled_from(["", " ", "\t", "  "])
_BREAKS = st.sampled_from(["", " ", "\n", "\n  ", " # k = [1, {\n"])
_LINE_ENDS = st.sampled_from(["\n", "\n\n", " # end = 1\n", "\t#\n\n"])
_DEEPEST = 2


@dataclass
class Document:
    """A text that is being written, and the offset of the last part of each key in it."""

    text: str = ""
    keys: dict[Path, int] = field(default_factory=dict)

    def place(self, path: Path) -> tuple[int, int]:
        """Return line and column, from 1."""
        before = self.text[: self.keys[path]].split("\n")
        return len(before), len(before[-1]) + 1


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Any TOML document of a few tables."""
    document = Document(draw(st.sampled_from(["", "\n", "# name = 1\n", "  \n"])))
    _Writer(draw, document).table((), (), depth=0)
    return document


class _Writer:
    def __init__(self, draw: st.DrawFn, document: Document) -> None:
        self._draw = draw
        self._document = document

    def table(self, path: Path, header: tuple[str, ...], *, depth: int) -> None:
        """Write the pairs of a table whose header stands already, then its inner tables with theirs."""
        kinds = st.sampled_from(
            ["pair", "pair", "dotted", "table", "array"] if depth < _DEEPEST else ["pair", "dotted"]
        )
        content = [(name, self._draw(kinds)) for name in self._draw(st.lists(_NAMES, unique=True, max_size=4))]
        for name, kind in content:
            if kind == "pair":
                self._pair(path, (name,))
            elif kind == "dotted":
                for inner in self._draw(st.lists(_NAMES, unique=True, min_size=1, max_size=2)):
                    self._pair(path, (name, inner))
        for name, kind in content:
            if kind == "table":
                self._inner_table((*path, name), (*header, name), depth=depth + 1)
            elif kind == "array":
                self._inner_array((*path, name), (*header, name), depth=depth + 1)

    def _inner_table(self, path: Path, header: tuple[str, ...], *, depth: int) -> None:
        if self._draw(st.booleans()):
            self._header(path, header)
            self.table(path, header, depth=depth)
        else:  # `[a.first]` may stand before `[a]`
            self._header((*path, "first"), (*header, "first"))
            self._header(path, header)
            self._pair(path, ("second",))

    def _inner_array(self, path: Path, header: tuple[str, ...], *, depth: int) -> None:
        for index in range(self._draw(st.integers(1, 3))):
            self._header((*path, index), header, brackets=2)
            self.table((*path, index), header, depth=depth)
        self._document.keys[path] = self._document.keys[*path, 0]

    def _header(self, path: Path, header: tuple[str, ...], *, brackets: int = 1) -> None:
        self._write(self._draw(_BLANKS) + "[" * brackets + self._draw(_BLANKS))
        self._document.keys[path] = self._key(header)
        self._write(self._draw(_BLANKS) + "]" * brackets + self._draw(_LINE_ENDS))

    def _pair(self, table: Path, names: tuple[str, ...]) -> None:
        self._write(self._draw(_BLANKS))
        self._assignment((*table, *names), names, depth=0)
        self._write(self._draw(_LINE_ENDS))

    def _assignment(self, path: Path, names: tuple[str, ...], *, depth: int) -> None:
        self._document.keys[path] = self._key(names)
        self._write(self._draw(_BLANKS) + "=" + self._draw(_BLANKS))
        self._value(path, depth=depth)

    def _key(self, names: tuple[str, ...]) -> int:
        """Write a dotted key; return the offset of its last part."""
        for name in names[:-1]:
            self._write(self._spelled(name) + self._draw(st.sampled_from([".", " . "])))
        offset = len(self._document.text)
        self._write(self._spelled(names[-1]))
        return offset

    def _spelled(self, name: str) -> str:
        plain = [name] if re.fullmatch(r"[A-Za-z0-9_-]+", name) else []
        return self._draw(st.sampled_from([*plain, *short_strings(name)]))

    def _value(self, path: Path, *, depth: int) -> None:
        kinds = ["scalar", "text", "array", "inline"] if depth <= _DEEPEST else ["scalar", "text"]
        kind = self._draw(st.sampled_from(kinds))
        if kind == "array":
            self._array(path, depth=depth)
        elif kind == "inline":
            self._inline_table(path, depth=depth)
        else:
            self._write(self._draw(_SCALARS) if kind == "scalar" else self._text())

    def _text(self) -> str:
        text = "".join(self._draw(_TEXTS))
        return self._draw(st.sampled_from([*short_strings(text), *long_strings(text)]))

    def _array(self, path: Path, *, depth: int) -> None:
        self._write("[" + self._draw(_BREAKS))
        for index in range(self._draw(st.integers(0, 3))):
            self._value((*path, index), depth=depth + 1)
            self._write(self._draw(_BREAKS) + "," + self._draw(_BREAKS))
        self._write("]")

    def _inline_table(self, path: Path, *, depth: int) -> None:
        self._write("{")
        for number, name in enumerate(self._draw(st.lists(_NAMES, unique=True, max_size=3))):
            self._write(", " if number else self._draw(_BLANKS))
            self._assignment((*path, name), (name,), depth=depth + 1)
        self._write(self._draw(_BLANKS) + "}")

    def _write(self, text: str) -> None:
        self._document.text += text


def short_strings(text: str) -> list[str]:
    """Return the ways to write the text on one line."""
    basic = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return [basic] if re.search(r"['\x00-\x1f\x7f]", text) else [basic, f"'{text}'"]


def long_strings(text: str) -> list[str]:
    """Return the ways to write the text over several lines, with as many bare quotes in it as may be."""
    escaped = text.replace("\\", "\\\\").replace('"""', '""\\"')
    forms = [f'"""{escaped}"""', f'"""\n{escaped}\\\n  """']
    return forms if "'''" in text else [*forms, f"'''{text}'''"]
