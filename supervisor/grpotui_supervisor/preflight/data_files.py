"""Which files of data a job names, by its profile or by its command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from grpotui_supervisor import hub_cache
from grpotui_supervisor.model.placeholders import expand
from grpotui_supervisor.preflight import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grpotui_supervisor.planning import Command
    from grpotui_supervisor.preflight.check import Job

KINDS: Final = (".parquet", ".jsonl", ".json", ".csv", ".tsv")
_ABOUT: Final = frozenset({"dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json"})
"""Files that tell of a data set and are none."""


def named(job: Job, command: Command) -> tuple[list[str], list[str]]:
    """Files and folders, absolute: those that are trained on, and others."""
    data, folder = job.loaded.profile.data, said.folder(job)
    if data.train or data.validation:
        start = {"profile_dir": (folder,)}
        return _under(folder, expand(data.train, start)), _under(folder, expand(data.validation, start))
    if command.kind == "verl":
        return _of_verl(job, command, "data.train_files"), _of_verl(job, command, "data.val_files")
    name = command.settings.text("dataset_name")
    if name is None:
        return [], []
    (here,) = _under(job.cwd, [name])
    cached = None if os.path.exists(here) else hub_cache.snapshot(job.environment, "datasets", name)
    return ([here] if os.path.exists(here) else [] if cached is None else [cached]), []


def files(paths: Sequence[str]) -> tuple[str, ...]:
    """Those that are there; of folders the files of known kinds in their order."""
    found: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            inner = (os.path.join(top, name) for top, _, names in os.walk(path) for name in names if name not in _ABOUT)
            found += sorted(one for one in inner if one.endswith(KINDS))
        elif os.path.isfile(path):
            found.append(path)
    return tuple(dict.fromkeys(found))


def absent(paths: Sequence[str]) -> list[str]:
    """What is not there."""
    return [path for path in paths if not os.path.exists(path)]


def _of_verl(job: Job, command: Command, key: str) -> list[str]:
    words = (said.filled(word, job.environment) for word in _listed(command.settings.text(key)))
    return _under(job.cwd, (word for word in words if word is not None))


def _listed(text: str | None) -> list[str]:
    """One word, or hydra's list of words: `[a.parquet,'b.parquet']`."""
    if text is None:
        return []
    inner = text[1:-1].split(",") if text.startswith("[") and text.endswith("]") else [text]
    return [word.strip().strip("'\"") for word in inner if word.strip()]


def _under(folder: str, words: Iterable[str]) -> list[str]:
    return [os.path.join(folder, os.path.expanduser(word)) for word in words]
