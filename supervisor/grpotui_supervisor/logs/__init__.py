"""Readers of training logs: one file a framework, bytes in, columns out.

A new framework is one file with a `Reader`, one line in `READERS` and its keys in `catalog`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.auto import AutoReader
from grpotui_supervisor.logs.trl import TrlReader
from grpotui_supervisor.logs.verl import VerlReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui_supervisor.logs.reader import Reader

READERS: tuple[tuple[str, Callable[[int | None], Reader]], ...] = (
    ("verl", lambda _logging_steps: VerlReader()),
    ("trl", lambda logging_steps: TrlReader(logging_steps=logging_steps)),
)
"""Framework as a profile spells it, and what makes its reader from the profile's `logging_steps`."""


def reader_for(framework: str, *, logging_steps: int | None = None) -> Reader | None:
    """A new reader for a framework, "auto" included; None for one that has no reader.

    `logging_steps` is the trainer's setting of that name, where known: TRL prints no step.
    """
    if framework == "auto":
        return AutoReader(partial(make, logging_steps) for _, make in READERS)
    return next((make(logging_steps) for name, make in READERS if name == framework), None)
