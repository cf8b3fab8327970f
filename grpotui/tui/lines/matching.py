"""What a person searches for, and what an error looks like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

REGEX: Final = "re:"
NOT: Final = "!"


class Matcher:
    """Lines that hold a text: in any case where it has no capitals, `re:` makes it a regular expression, `!` means not.

    Raises:
        UsageError: it is no regular expression.
    """

    def __init__(self, words: str) -> None:
        self.words = words
        self.inverted = words.startswith(NOT)
        rest = words.removeprefix(NOT)
        folded = rest == rest.lower()
        self._needle = None if rest.startswith(REGEX) else rest
        self._folded = folded
        source = rest.removeprefix(REGEX) if self._needle is None else re.escape(rest)
        try:
            self._pattern = re.compile(source, re.MULTILINE | (re.IGNORECASE if folded else 0))
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(f"{source!r} is no regular expression: {error}") from error

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where it is in a line that is shown."""
        return [] if self.inverted else [m.span() for m in self._pattern.finditer(line) if m.end() > m.start()]

    def holds(self, text: str) -> bool:
        """Whether a text, of one line or of several, is one that is meant."""
        return (next(self._with(text), None) is None) == self.inverted

    def lines(self, text: str) -> Iterator[int]:
        """Numbers of the matching lines in a text of whole lines, ascending."""
        if not self.inverted:
            yield from self._with(text)
            return
        found = set(self._with(text))
        count = text.count("\n") + (not text.endswith("\n"))
        yield from (number for number in range(count) if number not in found)

    def _with(self, text: str) -> Iterator[int]:
        """A plain text is found by `find`, which is ten times as fast as a pattern in any case of letters."""
        if self._needle is None:
            yield from _lines_of(text, self._search)
            return
        needle, hay = (self._needle.lower(), text.lower()) if self._folded else (self._needle, text)
        yield from _lines_of(hay, lambda text, at: text.find(needle, at))

    def _search(self, text: str, at: int) -> int:
        found = self._pattern.search(text, at)
        return -1 if found is None else found.start()


class _Find(Protocol):
    def __call__(self, text: str, at: int) -> int: ...


def _lines_of(text: str, find: _Find) -> Iterator[int]:
    number, begin, at = 0, 0, find(text, 0)
    while 0 <= at < len(text):
        number += text.count("\n", begin, at)
        yield number
        end = text.find("\n", at)
        if end < 0:
            return
        number, begin = number + 1, end + 1
        at = find(text, begin)


class Errors(Matcher):
    """Lines that tell of a failure, in the words of Python, CUDA, NCCL, the kernel, Ray and the launchers.

    Every alternative begins with the capital that it is found by: with small letters among them a search takes four
    times as long, and with a word before them forty times. So those are looked for only where their words are.
    """

    def __init__(self) -> None:
        super().__init__(REGEX + _ERRORS)
        self._more = re.compile(f"{_ERRORS}|{_MORE}", re.MULTILINE)

    def _with(self, text: str) -> Iterator[int]:
        pattern = self._more if any(word in text for word in _MORE_WORDS) else self._pattern
        yield from _lines_of(
            text, lambda text, at: -1 if (found := pattern.search(text, at)) is None else found.start()
        )


_ERRORS: Final = (
    r"Traceback \(most recent call last\)|Error(?<=\wError)(?:: |$)|Exception(?<=\wException)(?:: |$)|KeyboardInterrupt"
    r"|ERROR(?<!\wERROR)\b|CRITICAL(?<!\wCRITICAL)\b|FATAL(?<!\wFATAL)\b|Fatal "
    r"|CUDA (?:error|out of memory|failure)|OOM[ -]?[Kk]ill|NCCL (?:WARN|error|failure|ERROR)|Watchdog caught"
    r"|Segmentation fault|Aborted |Bus error|Killed(?<=^Killed)$|SIG(?:KILL|SEGV|ABRT|BUS|ILL|FPE|TERM)\b"
    r"|Assertion .{1,200} failed|Could not override|No space left on device|Too many open files|ActorDiedError"
)
_MORE: Final = (
    r"exitcode ?[:=] ?-?[1-9]|terminate called after|core dumped|device-side assert|cudaError|ncclInternalError"
)
_MORE_WORDS: Final = ("exitcode", "terminate called", "core dumped", "device-side", "cudaError", "ncclInternal")
