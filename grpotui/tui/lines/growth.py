"""How the logs of a source grew: what gives each line its place and its moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from grpotui_supervisor.follow import Records, visible
from grpotui_supervisor.source.blocks import size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.source.file_source import FileSource


class Grown(NamedTuple):
    """From `moment` of the cursor on, a log has so many bytes."""

    moment: int
    name: str
    """`MEMBER/STREAM`, or that of a file."""
    size: int


class Growth(Protocol):
    """Tells it piece by piece, in the order of the moments."""

    def path(self, name: str) -> str:
        """The file that a log is in."""

    def news(self) -> Iterator[Grown]:
        """What has come since the last call, whatever the cursor."""

    @property
    def absent(self) -> str | None:
        """Why there are no lines at all."""


class RunGrowth:
    """The logs of a run, by its timeline."""

    absent: str | None = None

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._timeline = Records(directory.file("timeline.jsonl"))

    def path(self, name: str) -> str:
        """In the run directory."""
        return self._directory.file(f"ranks/{name}.log")

    def news(self) -> Iterator[Grown]:
        """Sizes on record; a file that is no log of a member's words is left out.

        Raises:
            SchemaError: a newer grpotui wrote the run.
        """
        for record in self._timeline.until(None):
            name, size = record.get("file"), record.get("size")
            if record["ev"] == "size" and isinstance(name, str) and name.endswith(".log") and type(size) is int:
                yield Grown(visible(record), name.removesuffix(".log"), max(0, size))


class FileGrowth:
    """A bare log, by the records of metrics in it: the cursor is how many of them there are."""

    def __init__(self, source: FileSource, name: str, *, is_read: bool) -> None:
        """As long as it is not read no record is known: all that the file holds now can be looked at."""
        self._source = source
        self._name = name
        self._is_read = is_read
        self._told = False

    @property
    def absent(self) -> str | None:
        """What is compressed, or came through a pipe, cannot be gone back in."""
        return self._source.no_lines

    def path(self, name: str) -> str:  # noqa: ARG002  (there is one)
        """The file itself."""
        return self._source.path

    def news(self) -> Iterator[Grown]:
        """Each record ends with its own line."""
        if self._told:
            return
        self._told = True
        if not self._is_read:
            yield Grown(0, self._name, size_of([self._source.path]) or 0)
            return
        for row, end in enumerate(self._source.row_ends()):
            yield Grown(row + 1, self._name, end)
        yield Grown(self._source.logs.steps, self._name, self._source.content_bytes)
