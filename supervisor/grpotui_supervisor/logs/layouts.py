"""Compiled layouts: the fast way to read a record whose keys were seen before.

A run prints the same forty to two hundred keys at every step. For such a set of keys msgspec compiles a decoder that
goes from JSON text to C doubles, and that refuses every other set, so it is also the proof that the keys are the
same. It owns what is known about layouts and decides nothing about lines; who uses it makes the JSON text.

Measured on one line of 80 metrics: this decoder 3.2 us, msgspec's `dict[str, float]` 6.0, `str.split` and `float`
24, a regular expression compiled from the keys 9.7.
"""

from __future__ import annotations

from math import nan
from struct import error as PackError  # noqa: N812
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grpotui_supervisor.logs.columns import Columns, Shape

Compiled: TypeAlias = "tuple[Callable[[bytes], Any], Callable[[Any], tuple[Any, ...]]]"
"""JSON text to an object, and the object to step and metrics in the order of a `Shape`."""

COMPILE_AFTER: Final = 2
"""Records with the same keys before a decoder is compiled for them, which takes 0.5 ms."""

MAX_LAYOUTS: Final = 64
"""Layouts that are compiled; verl's trainers print two to five."""

MAX_SEEN: Final = 1000
"""Sets of keys that are counted; when that many came only once, none of them will come often."""

as_tuple: Final = msgspec.structs.astuple


class Layout:
    """One set of keys, compiled."""

    __slots__ = ("after", "cells", "decode", "length", "shape")

    def __init__(self, compiled: Compiled, shape: Shape) -> None:
        self.decode, self.cells = compiled
        self.shape = shape
        self.after: Layout | None = None
        """The last other layout that followed this one: validation comes at every tenth step, say."""
        self.length = 0
        """How many records came in a row the last time, if known; the same number is to be expected."""


class Layouts:
    """The layouts of one log, and the records that were read by the current one and are not in the columns yet."""

    def __init__(self, columns: Columns, compiled: Callable[[Shape], Compiled]) -> None:
        self._columns = columns
        self._compiled = compiled
        self._known: dict[frozenset[str], Layout | None] = {}
        self._seen: dict[frozenset[str], int] = {}
        self._guessed_from: Layout | None = None
        self.current: Layout | None = None
        """That of the last record, or of the next one where that is a good guess."""
        self.steps: list[int] = []
        self.rows: list[bytes] = []
        self.run = 0
        """Records of the current layout since the last other one."""

    def flush(self) -> None:
        """Append to the columns what was read."""
        if self.current is not None and self.rows:
            self._columns.append_rows(self.current.shape, self.steps, self.rows)
            self.steps.clear()
            self.rows.clear()

    def knows(self, keys: Sequence[str]) -> bool:
        """Whether these keys have a layout."""
        return self._known.get(frozenset(keys)) is not None

    def learn(self, keys: Sequence[str]) -> None:
        """Take note of a record that was read the slow way."""
        if not all(map(is_name, keys)):
            return
        wanted = frozenset(keys)
        if wanted not in self._known:
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()
            self._seen[wanted] = self._seen.get(wanted, 0) + 1
            if self._seen[wanted] < COMPILE_AFTER or len(self._known) >= MAX_LAYOUTS:
                return
            shape = self._columns.shape(keys)
            self._known[wanted] = None if shape is None else Layout(self._compiled(shape), shape)
        found = self._known[wanted]
        if found is not None:
            self._turn_to(found)

    def guess(self) -> Layout:
        """The current run is as long as the last one of its kind, so go on with the layout that came then.

        A wrong layout costs 7 us, half of what a record takes, and without guessing there are two at each validation.
        """
        if self.current is None or self.current.after is None:
            raise LookupError("a run is only as long as the last one when another layout came behind that")
        self.flush()
        self._guessed_from, self.current, self.run = self.current, self.current.after, 0
        return self.current

    def read(self, text: bytes, *, nulls: bool) -> tuple[Layout, Sequence[Any], bytes] | None:
        """A text for which the current layout did not do as it is, with `null` as NaN if that is allowed.

        Returns its layout, step and metrics, and the same packed; None when it must be read the slow way.
        """
        for layout in (self.current and self.current.after, self.current):
            if layout is None:
                continue
            cells: Sequence[Any] = ()
            try:
                cells = layout.cells(layout.decode(text))
                row = layout.shape.pack(*cells)
            except msgspec.DecodeError:
                continue
            except PackError:
                if not nulls or not cells:
                    continue
                cells = [nan if cell is None else cell for cell in cells]
                row = layout.shape.pack(*cells)
            self._turn_to(layout)
            return layout, cells, row
        return None

    def _turn_to(self, layout: Layout) -> None:
        if layout is self.current:
            return
        self.flush()
        if layout is self._guessed_from and not self.run:  # the guess was wrong: this run is longer than the last one
            self.run, layout.length = layout.length, 0
        else:
            if self.current is not None:
                self.current.after, self.current.length = layout, self.run
            self.run = 0
        self.current = layout


def is_name(key: str) -> bool:
    """Whether msgspec takes it for the name of a field."""
    return key.isprintable() and '"' not in key and "\\" not in key


def struct(keys: Iterable[tuple[str, Any]], other: Iterable[tuple[str, Any]] = ()) -> type[msgspec.Struct]:
    """A type for JSON objects that have just these keys, and maybe the other ones, which come last."""
    needed = [(f"key_{place}", kind, msgspec.field(name=key)) for place, (key, kind) in enumerate(keys)]
    extra = [(f"other_{place}", kind, msgspec.field(name=key, default="")) for place, (key, kind) in enumerate(other)]
    return msgspec.defstruct("Record", [*needed, *extra], forbid_unknown_fields=True, gc=False)
