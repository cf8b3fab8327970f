"""SOURCE on a command line: a run (id, beginning of one, directory), or a log file."""

from __future__ import annotations

import os

from grpotui_supervisor import rundir
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.source import Source


def open_source(word: str | None, root: str) -> Source | FileSource:
    """The source that a word means, not read yet; the newest run without one.

    A file comes before a run of the same name, since its path can be told apart by a slash and a run's id cannot.

    Raises:
        UsageError: neither a file nor a run is meant by it.
    """
    if word is None:
        return Source(rundir.latest(root))
    if word == "-" or (os.path.exists(word) and not os.path.isdir(word)):
        return FileSource(word)
    return Source(rundir.find(word, root))
