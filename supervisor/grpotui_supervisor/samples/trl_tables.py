"""The tables of completions that TRL prints with `log_completions`: a rich panel titled `Step N`.

```
╭───────────────── Step 1 ─────────────────╮
│ ┏━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━┳━━━━━━━━━━━┓ │
│ ┃ Prompt ┃ Completion ┃ len  ┃ Advantage ┃ │
│ ┡━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━╇━━━━━━━━━━━┩ │
│ │ Say    │ One, two,  │ 0.24 │     -0.76 │ │
│ │ three: │ three.     │      │           │ │
│ ├────────┼────────────┼──────┼───────────┤ │
```

A cell is folded at its width, and a word that is too long is cut with `…`. Rewards have two decimals. Columns behind
`Advantage` are the user's own. TRL 0.16 and 0.17 print no advantage. The last table is printed twice: with the last
metrics and with the summary of the run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grpotui_supervisor.samples.numbers import printed_number
from grpotui_supervisor.samples.sample import Groups, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_LIMIT = 1 << 16
ROW_LIMIT = 1 << 20
"""Characters of one row of the table."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TITLE = re.compile(r"(?:^|[\]\r])╭─+ Step ([0-9]{1,12}) ─+╮\s*$")
_ROW_ENDS = ("├", "└")
_ADVANTAGE = "Advantage"


class TableReader:
    """All tables of one log, row by row as they come."""

    def __init__(self) -> None:
        self._open = b""
        self._open_table = False
        self._step: int | None = None
        self._header: list[str] = []
        self._cells: list[list[str]] = []
        self._size = 0
        self._groups = Groups()
        self._rows: set[tuple[str, ...]] = set()
        self._rows_before: set[tuple[str, ...]] = set()  # of earlier tables of the same step

    def feed(self, block: bytes) -> Iterator[Sample]:
        """The samples whose row ends in this block."""
        *lines, rest = (self._open + block).split(b"\n")
        self._open = rest[: LINE_LIMIT + 1]
        for line in lines:
            if (self._open_table or b"Step " in line) and len(line) <= LINE_LIMIT:
                yield from self._read(_COLOUR.sub("", line.decode("utf-8", "replace")).rstrip("\r"))

    def finish(self) -> Iterator[Sample]:
        """The log has ended: a row that was cut off is left out."""
        yield from ()

    def _read(self, line: str) -> Iterator[Sample]:
        if title := _TITLE.search(line):
            self._begin(int(title[1]))
            return
        if not self._open_table:
            return
        inner = line[1:-1].strip(" ") if line.startswith("│") and line.endswith("│") else ""
        if line.startswith("╰"):
            self._open_table = False
        elif inner.startswith("┃"):
            self._take_header(inner)
        elif inner.startswith("│") and len(self._header) > 2:
            self._take_cells(inner)
        elif inner.startswith(_ROW_ENDS):
            if self._cells and (sample := self._sample()) is not None:
                yield sample
            self._cells, self._size = [], 0

    def _begin(self, step: int) -> None:
        self._rows_before = self._rows_before | self._rows if step == self._step else set()
        self._rows = set()
        self._open_table, self._step = True, step
        self._header, self._cells, self._size = [], [], 0

    def _take_header(self, inner: str) -> None:
        """A long name is folded, too."""
        names = [name.strip() for name in inner.strip("┃").split("┃")]
        if len(names) != len(self._header):
            self._header = [""] * len(names)
        self._header = [first + more for first, more in zip(self._header, names, strict=True)]

    def _take_cells(self, inner: str) -> None:
        self._size += len(inner)
        cells = inner[1:-1].split("│")
        surplus = len(cells) - len(self._header)
        if surplus < 0 or self._size > ROW_LIMIT:
            return
        if surplus:  # in the text itself: more often in the answer than in the prompt
            cells[1 : surplus + 2] = ["│".join(cells[1 : surplus + 2])]
        self._cells.append([cell.removeprefix(" ").rstrip(" ") for cell in cells])

    def _sample(self) -> Sample | None:
        row = tuple("\n".join(lines).rstrip("\n") for lines in zip(*self._cells, strict=True))
        if row in self._rows_before:
            return None
        self._rows.add(row)
        prompt, answer, *values = row
        names = self._header[2:]
        numbers = [printed_number(value.replace("\n", "")) for value in values]
        end = names.index(_ADVANTAGE) if _ADVANTAGE in names else len(names)
        rewards = {name: number for name, number in zip(names[:end], numbers[:end], strict=True) if number is not None}
        return Sample(
            step=self._step,
            group=self._groups.of(self._step, prompt),
            prompt=prompt,
            answer=answer,
            rewards=rewards,
            advantage=numbers[end] if end < len(names) else None,
            length=None,
            ended=None,
            source="table",
        )
