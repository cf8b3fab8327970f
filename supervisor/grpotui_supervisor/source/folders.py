"""What a directory that is no run holds: TensorBoard's event files, a trainer's state, dumps of samples."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.samples.files import dumps_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EVENT_FILE: Final = ".tfevents"
"""In the name of every TensorBoard event file."""
STATE: Final = "trainer_state.json"
LOOKED_FOR: Final = (
    f"run.json (a run), *{EVENT_FILE}.* (TensorBoard, also in folders below), {STATE} (also in checkpoint-N), "
    "*.jsonl and *.parquet (dumps of samples)"
)

_DEPTH = 4
_FOLDERS = 10_000
"""Folders that are looked into: SOURCE may be a home directory by mistake."""
_CHECKPOINT = re.compile(r"checkpoint-([0-9]{1,12})")


@dataclass(frozen=True, slots=True)
class Content:
    """The files of one run in a folder."""

    path: str
    """Where they lie, or the one that it is."""
    files: tuple[str, ...]
    """With metrics, in the order in which they are read; none where the folder has only samples."""
    others: int = 0
    """How many other runs there are, older ones."""
    is_all: bool = True
    """Whether every folder below was looked into; hidden ones never are."""


def content(folder: str) -> Content:
    """The newest run with event files in or below it, else its newest trainer's state, else its samples.

    Raises:
        UsageError: there is none of them, or it cannot be looked into.
    """
    try:
        os.listdir(folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from error
    walk = list(islice(_folders(folder), _FOLDERS + 1))
    runs = sorted(_event_runs(walk[:_FOLDERS]), reverse=True)
    if runs:
        _, path, files = runs[0]
        return Content(path, files, len(runs) - 1, is_all=len(walk) <= _FOLDERS)
    states = _states(folder)
    if states:
        return Content(states[-1], (states[-1],))
    if dumps_in(folder):
        return Content(folder, ())
    raise UsageError(f"{folder} holds nothing that grpotui reads", hint=f"looked for: {LOOKED_FOR}")


def _folders(folder: str) -> Iterator[tuple[str, list[str]]]:
    """It and those below it, with the names of the event files in each."""
    for path, below, names in os.walk(folder):
        deep = path[len(folder) :].count(os.sep) >= _DEPTH
        below[:] = [] if deep else sorted(name for name in below if not name.startswith("."))
        yield path, sorted(name for name in names if EVENT_FILE in name)


def _event_runs(folders: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[float, str, tuple[str, ...]]]:
    """Time of the last change, folder and files of each run: TensorBoard takes a folder for one run."""
    for path, names in folders:
        files = tuple(file for name in names if os.path.isfile(file := os.path.join(path, name)))
        if files:
            yield max(os.path.getmtime(file) for file in files), path, files


def _states(folder: str) -> list[str]:
    """Of the checkpoints, the one with most steps last; its own, which is newer, behind them."""
    numbered = [(int(found[1]), name) for name in os.listdir(folder) if (found := _CHECKPOINT.fullmatch(name))]
    paths = [os.path.join(folder, name, STATE) for _, name in sorted(numbered)]
    return [path for path in (*paths, os.path.join(folder, STATE)) if os.path.isfile(path)]
