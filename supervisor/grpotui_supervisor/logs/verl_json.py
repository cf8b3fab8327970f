"""Reads verl's file logger: one `{"step":12,"data":{"actor/entropy":0.5}}` a line, since 0.6.

Up to 0.7.0 it is the `json` module that writes, with blanks and the words NaN and Infinity. From 0.7.1 on it is
orjson, without blanks, and what is not finite becomes `null`, which is NaN here; None becomes that too, but no
metric is None. Rows go through compiled layouts, six times as fast as `json.loads`.
"""

from __future__ import annotations

import json
import re
from math import nan
from struct import error as PackError  # noqa: N812
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

from msgspec import DecodeError, Meta, defstruct
from msgspec.json import Decoder

from grpotui_supervisor.logs.layouts import MAX_SEEN, Layouts, as_tuple, is_name, struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui_supervisor.logs.columns import Columns, Shape
    from grpotui_supervisor.logs.layouts import Compiled, Layout
    from grpotui_supervisor.logs.verl_text import Pair

FIRST: Final = re.compile(rb'\s*\{"step": ?[0-9]{1,15}, ?"data": ?\{')
"""The beginning of such a file."""

_SPACED: Final = b'{"step": '
"""How the `json` module begins a row: there, `null` is None."""

_NAN: Final = re.compile(rb": NaN\b")
STEP_LIMIT: Final = 10**15


class JsonRows:
    """The rows of one file."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._layouts = Layouts(columns, self._compiled)
        self._other: set[str] = set()
        """Keys of what is no number: the logger writes everything."""
        self.step: int | None = None
        """That of the last row."""

    def read(self, data: bytes, begin: int, end: int) -> None:
        """Read whole lines."""
        layouts, find = self._layouts, data.find
        layout, run, above = layouts.current, layouts.run, self._above()
        cells: Sequence[Any]
        while begin < end:
            stop = find(b"\n", begin, end)
            stop = end if stop < 0 else stop
            early = find(b"\r", begin, stop)
            stop = stop if early < 0 else early
            text = data[begin:stop]
            begin = stop + 1
            try:
                if layout is None:
                    raise DecodeError  # noqa: TRY301
                cells = layout.cells(layout.decode(text))
                row = layout.shape.pack(*cells)
            except (DecodeError, PackError):
                layouts.run = run
                again = self._again(text)
                if again is None:
                    self._read_unknown(text)
                    layout, run, above = layouts.current, layouts.run, self._above()
                    continue
                layout, cells, row = again
                run = layouts.run
            step = cells[0]
            if step > above:
                layouts.rows.append(row)
                layouts.steps.append(step)
                self.step = above = step
                run += 1
                if run == layout.length:
                    layout, run = layouts.guess(), 0
            else:
                layouts.flush()
                self._record(step, list(zip(layout.shape.keys, cells[1:], strict=True)))
                above = self._above()
        layouts.run = run
        layouts.flush()

    def _above(self) -> int:
        return max(self._columns.top, -1 if self.step is None else self.step)

    def _again(self, text: bytes) -> tuple[Layout, Sequence[Any], bytes] | None:
        """Read a row for which the current layout did not do as it is: of another one, or with a NaN."""
        spaced = text.startswith(_SPACED)
        found = self._layouts.read(text, nulls=not spaced)
        if found is None and spaced and b"null" not in text:
            return self._layouts.read(_NAN.sub(b": null", text), nulls=True)
        return found

    def _read_unknown(self, text: bytes) -> None:
        """Read a row as any JSON, and learn its keys."""
        self._layouts.flush()
        spaced = text.startswith(_SPACED)
        row = _loaded(text)
        pairs = []
        for key, value in row.data.items() if row else ():
            if isinstance(value, float | bool):
                pairs.append((key, float(value)))
            elif value is None and not spaced:
                pairs.append((key, nan))
            elif len(self._other) < MAX_SEEN and is_name(key):
                self._other.add(key)
        if row and pairs:
            self._record(row.step, pairs)
            self._layouts.learn([key for key, _ in pairs])

    def _record(self, step: int, pairs: Sequence[Pair]) -> None:
        if self.step is not None and step < self.step and self._columns.happens_again(step, pairs[0][0]):
            self._columns.restart(step)
            self.step = None
        self._columns.record(step, pairs)
        self.step = step if self.step is None else max(step, self.step)

    def _compiled(self, shape: Shape) -> Compiled:
        metrics = [(key, float | bool | None) for key in shape.keys]
        other = [(key, str | list | dict) for key in sorted(self._other.difference(shape.keys))]
        row = defstruct(
            "Row", [("step", _Step), ("data", struct(metrics, other))], forbid_unknown_fields=True, gc=False
        )
        if not other:
            return Decoder(row).decode, lambda found: (found.step, *as_tuple(found.data))
        return Decoder(row).decode, lambda found: (found.step, *as_tuple(found.data)[: len(metrics)])


_Step: TypeAlias = Annotated[int, Meta(ge=0, lt=STEP_LIMIT)]


class _Row(NamedTuple):
    step: int
    data: dict[str, object]


def _loaded(text: bytes) -> _Row | None:
    """A row as the `json` module reads it, without keys that no screen could show."""
    try:
        row = json.loads(text, parse_int=float)  # the longest int is a number on the console too
        step, data = row["step"], row["data"]
        shown = {key: value for key, value in data.items() if key.isprintable()}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return None
    if not isinstance(step, float) or not step.is_integer() or not 0 <= step < STEP_LIMIT:
        return None
    return _Row(int(step), shown)
