"""Record files that the members' own processes write into their folders: the exit wrapper's, and the hook's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from grpotui_supervisor.follow import Records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.rundir import RunDirectory


class Written(NamedTuple):
    """A record, and where it stands."""

    member: str
    file: str
    record: dict[str, Any]


class MemberRecords:
    """All files `ranks/<member>/<prefix>…` of a run, as they come and grow."""

    def __init__(self, directory: RunDirectory, prefix: str) -> None:
        self._folder = directory.file("ranks")
        self._prefix = prefix
        self._files: dict[tuple[str, str], Records] = {}

    def until(self, moment: int | None) -> list[Written]:
        """New records that were in their file at `moment` (monotonic nanoseconds), in the order of their times.

        Raises:
            SchemaError: a newer grpotui wrote one of the files.
        """
        for place in self._places():
            self._files.setdefault(place, Records("/".join((self._folder, *place))))
        found = [
            Written(member, file, record)
            for (member, file), records in sorted(self._files.items())
            for record in records.until(moment)
        ]
        return sorted(found, key=lambda written: int(written.record["m"]))

    def _places(self) -> Iterator[tuple[str, str]]:
        for member in _names(self._folder):
            for file in _names(f"{self._folder}/{member}"):
                if file.startswith(self._prefix):
                    yield member, file


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
