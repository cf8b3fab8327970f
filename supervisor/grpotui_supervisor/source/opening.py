"""SOURCE on a command line: a run (id, beginning of one, directory), a file, or a folder with a run's files."""

from __future__ import annotations

import os

from grpotui_supervisor import rundir
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.source import Source


def open_source(word: str | None, root: str) -> Source | FileSource:
    """The source that a word means, not read yet; the newest run without one.

    A file or folder comes before a run of the same name, since its path can be told apart by a slash and a run's id
    cannot. A folder is meant only if it holds something, or if nothing else can be meant.

    Raises:
        UsageError: neither a file nor a run is meant by it.
    """
    if word is None:
        return Source(rundir.latest(root))
    if word == "-" or (os.path.exists(word) and not os.path.isdir(word)):
        return FileSource(word)
    if os.path.isdir(word) and not os.path.lexists(os.path.join(word, "run.json")):
        try:
            return FileSource(word)
        except UsageError:
            if os.sep in word or not _is_run(word, root):
                raise
    return Source(rundir.find(word, root))


def _is_run(word: str, root: str) -> bool:
    return any(run.run_id.startswith(word) for run in rundir.runs(root))
