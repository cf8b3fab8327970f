"""Reads a log whose framework nobody named: the first reader that finds a record in it is taken.

Until then each part of the log is searched for the marks of the frameworks, words without which there is no record.
Only a reader whose mark was seen listens, and when for some pages no mark comes it stops. The last pages are kept, so
that the reader that is taken gets what came before its first record; then it is the only one. Pages are counted from
the log's beginning, so how it is cut into blocks changes nothing. Nothing is concluded from what is missing: a log
without a record stays "auto".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui_supervisor.logs.columns import Columns
from grpotui_supervisor.logs.reader import HEAD_LIMIT, LINE_END, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grpotui_supervisor.logs.reader import Reader

PAGE: Final = 1 << 16
"""Bytes of a page, of all streams together."""

MEMORY: Final = 16
"""Whole pages that are kept until a framework is recognised."""

PATIENCE: Final = 4
"""Pages after its last mark in which a reader still listens."""

MARK_LIMIT: Final = 64
"""A mark is shorter than this, so it can be found where two blocks meet."""

SEEN_LIMIT: Final = 200
"""Characters kept of the line that shows what an unrecognised log looks like."""

_LINE: Final = re.compile(rb"[^\r\n]*[\r\n]+|[^\r\n]+")


class Candidate(NamedTuple):
    """A framework that a log may be of."""

    make: Callable[[], Reader]
    marks: tuple[bytes, ...]
    """A line with a record, or the first line of one, has one of these; no line ends inside."""


class _Past:
    """The last pages of all streams together, in the order in which their bytes came."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, bytearray]] = []
        self._cut: set[str] = set()
        self._size = 0
        self.end = 0
        """How many bytes there were in all."""

    @property
    def page(self) -> int:
        """The page that the next byte is of."""
        return self.end // PAGE

    def add(self, data: bytes, stream: str) -> None:
        if self._pieces and self._pieces[-1][0] == stream:
            self._pieces[-1][1].extend(data)
        else:
            self._pieces.append((stream, bytearray(data)))
        self._size += len(data)
        self.end += len(data)

    def forget(self) -> None:
        """Drop pages so that `MEMORY` of them are left, the open one aside."""
        surplus = self._size - (self.end - max(0, self.page - MEMORY) * PAGE)
        while surplus > 0:
            stream, piece = self._pieces[0]
            self._cut.add(stream)
            gone = min(surplus, len(piece))
            surplus -= gone
            self._size -= gone
            del piece[:gone]
            if not piece:
                del self._pieces[0]

    def replay(self, reader: Reader) -> None:
        """Feed what is left; a line whose beginning was dropped is left out."""
        for stream, piece, begin in self._whole():
            reader.feed(bytes(piece[begin:]), stream=stream)

    def lines(self, start: int) -> Iterator[tuple[str, bytes, bool]]:
        """The same in pieces: what there was before `start` bytes had come, then line by line, which is true of it."""
        at = self.end - self._size
        for stream, piece, begin in self._whole():
            early = max(begin, min(start - at, len(piece)))
            at += len(piece)
            yield stream, bytes(piece[begin:early]), False
            for line in _LINE.findall(piece, early):
                yield stream, bytes(line), True

    def _whole(self) -> Iterator[tuple[str, bytearray, int]]:
        """Each piece, and where its first whole line begins."""
        cut = set(self._cut)
        for stream, piece in self._pieces:
            begin = 0
            if stream in cut:
                end = LINE_END.search(piece)
                begin = len(piece) if end is None else end.end()
                if end is not None:
                    cut.discard(stream)
            yield stream, piece, begin


class AutoReader:
    """Becomes the first of its candidates that yields a record; on one line, the earlier in the list."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._candidates = tuple(candidates)
        self._adopted: Reader | None = None
        self._past = _Past()
        self._tails: dict[str, bytes] = {}
        self._heads: dict[str, bytes] = {}
        self._awake: dict[int, Reader] = {}
        self._marked: dict[int, int] = {}
        self._nothing = Columns()
        self.seen: str | None = None
        """The first line that is not empty, inert and cut to `SEEN_LIMIT`: what the log looks like."""

    @property
    def framework(self) -> str:
        """The recognised framework, "auto" until there is one."""
        return "auto" if self._adopted is None else self._adopted.framework

    @property
    def columns(self) -> Columns:
        """The adopted reader's columns; empty until then."""
        return self._nothing if self._adopted is None else self._adopted.columns

    @property
    def step(self) -> int | None:
        """None until a framework is recognised: another program's bar is no step."""
        return None if self._adopted is None else self._adopted.step

    @property
    def steps_total(self) -> int | None:
        """None until a framework is recognised."""
        return None if self._adopted is None else self._adopted.steps_total

    @property
    def training_complete(self) -> bool:
        """False until a framework is recognised."""
        return self._adopted is not None and self._adopted.training_complete

    def feed(self, block: bytes, *, stream: str = "stdout") -> None:
        """Read the next bytes of a stream."""
        start = 0
        while self._adopted is None and start < len(block):
            end = start + PAGE - self._past.end % PAGE
            self._listen(block[start:end], stream)
            start = end
        if self._adopted is not None and start < len(block):
            self._adopted.feed(block[start:], stream=stream)

    def _listen(self, part: bytes, stream: str) -> None:
        """Look for the first record in bytes of one page."""
        if self.seen is None:
            self._look(part, stream)
        page = self._past.page
        text = self._tails.get(stream, b"") + part
        self._tails[stream] = text[-MARK_LIMIT:]
        marked = [index for index in range(len(self._candidates)) if self._mark_end(index, text)]
        self._marked.update(dict.fromkeys(marked, page))
        earlier = self._past.end
        self._past.add(part, stream)
        listening = set(self._awake)
        for reader in self._awake.values():
            reader.feed(part, stream=stream)
        for index in marked:
            if index not in self._awake:
                self._awake[index] = self._fresh(index)
        self._adopt(earlier, listening)
        if self._past.page > page:
            self._past.forget()
            for index in [index for index in self._awake if self._marked[index] + PATIENCE <= page]:
                del self._awake[index]

    def _look(self, part: bytes, stream: str) -> None:
        """See what the log looks like."""
        text = self._heads.get(stream, b"") + part
        *lines, rest = LINE_END.split(text)
        self._heads[stream] = rest[:HEAD_LIMIT]
        self.seen = next(filter(None, map(_inert, lines)), None)

    def _fresh(self, index: int) -> Reader:
        reader = self._candidates[index].make()
        self._past.replay(reader)
        return reader

    def _mark_end(self, index: int, text: bytes) -> int:
        """Where the first mark of a candidate ends; 0 without one."""
        ends = (at + len(mark) for mark in self._candidates[index].marks if (at := text.find(mark)) >= 0)
        return min(ends, default=0)

    def _adopt(self, earlier: int, listening: set[int]) -> None:
        """Take the reader whose record ends first, the earlier in the list where two end on one line.

        None had one when the log had `earlier` bytes, at which those of `listening` were awake.
        """
        found = sorted(index for index, reader in self._awake.items() if len(reader.columns))
        if not found:
            return
        first = found[0] if len(found) == 1 else self._race(found, earlier, listening)
        self._adopted = self._awake[first]
        self._candidates, self._awake, self._past = (), {}, _Past()

    def _race(self, indices: list[int], earlier: int, listening: set[int]) -> int:
        """Of several readers with a record, the first that listens and has it when the lines come one by one.

        A record may stand in a line in front of the mark, where a control character is in the middle of its own: then
        it counts from the mark on, before the line has ended.
        """
        readers = [(index, self._candidates[index].make()) for index in indices]
        tails: dict[str, bytes] = {}
        for stream, line, is_new in self._past.lines(earlier):
            text = tails.get(stream, b"") + line
            tails[stream] = text[-MARK_LIMIT:]
            ends = {index: self._mark_end(index, text) for index in indices} if is_new else {}
            marked = {index for index, end in ends.items() if end} - listening
            late = [(ends[index], index) for index, reader in readers if index in marked and len(reader.columns)]
            if late:
                return min(late)[1]
            listening |= marked
            for index, reader in readers:
                reader.feed(line, stream=stream)
                if is_new and index in listening and len(reader.columns):
                    return index
        return indices[0]


def _inert(line: bytes) -> str | None:
    """The visible characters of a line, blanks made one; None when there are none."""
    words = plain(line[:HEAD_LIMIT].decode("utf-8", "replace")).split()
    shown = "".join(char for char in " ".join(words) if char.isprintable())
    return shown.strip()[:SEEN_LIMIT] or None
