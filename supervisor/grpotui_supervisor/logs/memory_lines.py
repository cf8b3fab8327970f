"""Reads the lines in which verl tells its memory at some place in the code, on one rank as a rule.

    (WorkerDict pid=9) After FSDP, memory allocated (GB): 7.51, memory reserved (GB): 8.50, device memory used/total
    (GB): 23.86/79.15

The first two are torch's counters in that process, the last two what the driver told it of the whole device
(`cudaMemGetInfo`); older versions print the first two only, with all digits. verl divides by 1024**3
(`verl/utils/profiler/performance.py`), so its "GB" are GiB; here they are bytes. A sleeping rollout engine leaves more
reserved than the device has in use, so no order among the numbers is expected.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from grpotui_supervisor.logs.reader import PREFIX, Spans, line_start, plain

LABEL_LIMIT: Final = 200
"""Characters of a label; a longer one is no label."""

_WORD: Final = b", memory allocated (GB): "
_STEP: Final = b"step:"
_RECORD: Final = re.compile(_STEP + rb"[0-9]+ - ")
"""Every record of verl's console has it."""

_NUMBER: Final = rb"([0-9]{1,7}(?:\.[0-9]{1,20})?(?:e-[0-9]{1,2})?)"
_NUMBERS: Final = re.compile(
    rb"%b, memory reserved \(GB\): %b(?:, device memory used/total \(GB\): %b/%b)?" % ((_NUMBER,) * 4)
    + rb"(?:\x1b\[[0-9;]{0,9}m|[ \t])*"
    + rb"(?:\[repeated [0-9]{1,9}x [^\r\n]{0,80})?[\r\n]"  # Ray, where several lines are alike
)
_PREFIX: Final = re.compile(PREFIX)
_PROCESS: Final = re.compile(r"\(([A-Za-z][\w.:]{0,60} pid=([0-9]{1,9}))(?:, ip=[0-9A-Fa-f.:]{1,45})?\)")

Printed = tuple[bytes, bytes, bytes | None, bytes | None]
"""Allocated, reserved, device used and device total, as printed: GiB."""


class Group(NamedTuple):
    """Memory lines between which no record is."""

    begin: int
    """Offset in the block at or before which all records end that were printed before these lines."""
    lines: list[tuple[bytes, Printed]]
    """What stands before the numbers, and the numbers."""


class MemoryLines(Spans):
    """The memory lines of one stream. Measured on a log of 200 MB: 3.5 us for each of them."""

    __slots__ = ()

    def groups(self, block: bytes) -> list[Group]:
        """Those that end in this block, in their order."""
        found: list[Group] = []
        lines: list[tuple[bytes, Printed]] | None = None
        reached, match = 0, _NUMBERS.match
        for data, begin, end in self.feed(block):
            find, record = data.find, _next_record(data, begin, end)
            at = find(_WORD, begin, end)
            while at >= 0:
                behind = at + len(_WORD)
                numbers = match(data, behind, end)
                if numbers is not None:
                    start = line_start(data, begin, at)
                    if lines is None or record < at:
                        lines = []
                        found.append(Group(start if data is block else reached, lines))
                        record = _next_record(data, at, end)
                    lines.append((data[start:at], numbers.groups()))  # type: ignore[arg-type]
                at = find(_WORD, behind, end)
            if record < end:
                lines = None
            reached = end if data is block else reached
        return found


def _next_record(data: bytes, begin: int, end: int) -> int:
    """Where the next record may be; `end` if there is none."""
    at = data.find(_STEP, begin, end)
    while at >= 0 and not _RECORD.match(data, at, end):
        at = data.find(_STEP, at + len(_STEP), end)
    return end if at < 0 else at


class Place(NamedTuple):
    """Where in which process a line was printed."""

    label: str
    """As printed: `After FSDP`."""
    process: str | None
    """What Ray writes in front of the line: `WorkerDict pid=97394`."""
    pid: int | None


def place_of(head: bytes) -> Place | None:
    """What stands before the numbers of a line; None where it is no label."""
    text = plain(head.decode("utf-8", "replace"))
    prefix = _PREFIX.match(text)
    label = text[prefix.end() if prefix else 0 :].strip()
    if not label or len(label) > LABEL_LIMIT:
        return None
    process = _PROCESS.search(text, 0, prefix.end() if prefix else 0)
    return Place(label, process[1] if process else None, int(process[2]) if process else None)
