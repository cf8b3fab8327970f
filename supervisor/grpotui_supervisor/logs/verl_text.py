"""The forms of verl's console lines, read one by one: the exact way, for every line that is not quite regular.

A line that arrives here is plain text, without control sequences. Nothing is remembered between lines except in the
two objects that a caller keeps: a record whose line may go on, and a final validation whose end has not come.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from grpotui_supervisor.logs.reader import number

if TYPE_CHECKING:
    from collections.abc import Iterator

Pair: TypeAlias = tuple[str, float]

STEP: Final = re.compile(r"""(?<![A-Za-z_/.\-'"`\\=({\[,:])step:([0-9]{1,9}) - """)
"""The beginning of a record; neither the tail of `training/global_step:3 - ` nor something quoted."""

FINAL: Final = "Final validation metrics"

FINAL_LINES: Final = 200
"""Lines of other processes that may come between two pieces of the final validation."""

_RAY = re.compile(r"\((?:\w+ )?pid=[0-9][^)]{0,80}\) ")
_NEXT = re.compile(r"\((?:\w+ )?pid=[0-9]|\[repeated [0-9]")
_PIECE = re.compile(r"""\(?(['"])(.*)\1\)?""")
_ITEM = re.compile(r"""(['"])((?:(?!\1).){1,300})\1: *([^\s,{}]{1,512}) *(?=[,}])""")


class Record(NamedTuple):
    """One record of one line."""

    step: int
    pairs: list[Pair]
    tail: str | None
    """The last field as printed; None when something else follows on the line, so that it is whole."""
    regular: bool
    """Every field is a metric, and one of them has verl's slash."""


def records(line: str) -> Iterator[Record]:
    """The records of a line.

    `step:5 - ` stands in prose too. So the first field must be a metric, and one of the keys have a slash, as all of
    verl's have, unless nothing but a prefix or a bar stands in front.
    """
    heads = list(STEP.finditer(line))
    ends = [head.start() for head in heads[1:]] + [len(line)]
    for head, end in zip(heads, ends, strict=False):  # a line without a record still has an end
        body, *more = _NEXT.split(line[head.end() : end], maxsplit=1)
        body = body.rstrip()
        dashed = body.endswith(" -")
        fields = body.removesuffix(" -").split(" - ")
        pairs = [found for field in fields if (found := pair(field))]
        slashed = any("/" in key for key, _ in pairs)
        if pair(fields[0]) and (slashed or head is not heads[0] or _is_edge(line[: head.start()])):
            tail = None if more or end < len(line) else "" if dashed else fields[-1]
            regular = slashed and len(pairs) == len(fields) and tail is not None
            yield Record(int(head[1]), pairs, tail, regular=regular)


def pair(field: str) -> Pair | None:
    """A metric. The last colon splits; a key with a blank must hold a slash, or it is prose."""
    key, _, printed = field.strip().rpartition(":")
    value = number(printed)
    return (key, value) if value is not None and key and (" " not in key or "/" in key) else None


def continued(tail: str, line: str, *, full: bool) -> tuple[list[Pair], str] | None:
    """The metrics that a hard-wrapped line adds to a record, from its last field on, and the new last field.

    None when the line may be anything else: it must complete what was cut, or bring whole metrics with a slash.
    `full`: the record was wrapped before and its last line is as long as the first, so it does go on.
    """
    if _RAY.match(line) or STEP.search(line):
        return None
    body, *more = _NEXT.split(line, maxsplit=1)
    body = body.rstrip()
    dashed = body.endswith(" -")
    fields = _join(tail, body.removesuffix(" -")).split(" - ")
    pairs = [found for field in fields if (found := pair(field)) and "/" in found[0]]
    last_is_cut = pair(fields[-1]) is None and " " not in fields[-1].strip()
    if len(pairs) < len(fields) - last_is_cut or not pairs:
        return None
    if len(pairs) == 1 and pair(tail) and not full:  # only the number of a whole metric would change
        return None
    return pairs, "" if more or dashed else fields[-1]


class FinalValidation:
    """`Final validation metrics: {...}`, which pprint cuts into string literals of 80 columns, one a line.

    Behind Ray each piece has its own prefix, and lines of other processes may come in between.
    """

    def __init__(self, line: str) -> None:
        before, _, rest = line.partition(FINAL)
        quote = before[-1:]
        quoted = quote in {"'", '"'}
        self._text = rest.rpartition(quote)[0] if quoted else rest
        self._left = FINAL_LINES if quoted else 0

    @property
    def waits(self) -> bool:
        """Whether another piece may come."""
        return self._left > 0 and "}" not in self._text

    def add(self, line: str) -> None:
        """Take the next line of the log."""
        self._left -= 1
        piece = _PIECE.fullmatch(_RAY.sub("", line, count=1).strip())
        if piece:
            self._text += piece[2].replace("\\'", "'")

    @property
    def pairs(self) -> list[Pair]:
        """The metrics of the pieces so far."""
        return [(key, value) for _, key, text in _ITEM.findall(self._text) if (value := number(text)) is not None]


def _is_edge(before: str) -> bool:
    """Whether only a prefix or a progress bar stands in front of a record: they end in a bracket or a bar."""
    return before.rstrip()[-1:] in {"", ")", "]", "|"}


def _join(tail: str, line: str) -> str:
    """What was one text, with what a copy loses: a blank at the edge of the screen, or a dash there."""
    if line.lstrip().startswith("- "):
        return f"{tail} {line.lstrip()}"
    first = pair(line.partition(" - ")[0])
    if pair(tail) and first and "/" in first[0][1:]:
        return f"{tail} - {line.lstrip()}"
    return tail + line
