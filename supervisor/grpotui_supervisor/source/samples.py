"""The samples of a source: what its log prints, and what its trainer dumps to files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.follow import read_range
from grpotui_supervisor.model.placeholders import expand
from grpotui_supervisor.samples.files import dumps_in, log_samples, samples_of
from grpotui_supervisor.source.blocks import Blocks, size_of
from grpotui_supervisor.source.file_source import FileSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from grpotui_supervisor.samples.sample import Sample
    from grpotui_supervisor.source.source import Source

    Progress = Callable[[int, int | None], object]


def _ignore(*_: object) -> None:
    """Nobody wants to know."""


def samples(
    source: Source | FileSource, progress: Progress = _ignore, note: Callable[[str], object] = _ignore
) -> Iterator[Sample]:
    """Every sample, one at a time: first those of the log, then those of the dumps that the profile names.

    A run is read as of its last update. A dump has no time on record, so of it only steps count that the log had
    reached by then; all of them when the run was read to its end. `progress` is told bytes read, of how many; `note` is
    told what a reader of the samples should know about a file.

    Raises:
        UsageError: a file cannot be read, or needs a library that is not there.
    """
    if isinstance(source, FileSource):
        yield from _of_path(source.path, progress, note)
        return
    sizes = source.logs.sizes()
    for name in sorted(sizes):
        if name.rpartition("/")[0] == source.logs.metrics_member and name.endswith(".log"):
            blocks = read_range(source.directory.file(f"ranks/{name}"), 0, sizes[name])
            yield from log_samples(_counted(blocks, sizes[name], progress))
    for path in dump_paths(source.directory.path, source.facts):
        if os.path.exists(path):
            yield from (sample for sample in _of_path(path, progress, note) if _was_there(sample, source))
        else:
            note(f"{path}, which the profile names for samples, is not there")


def dump_paths(run_dir: str, facts: Mapping[str, Any]) -> list[str]:
    """Where the run's profile says that samples are dumped: `[logs] samples`."""
    words = facts.get("profile", {}).get("logs", {}).get("samples", ())
    values = {"run_dir": (run_dir,), "profile_dir": (os.path.dirname(facts.get("profile_path", "")),)}
    return [os.path.join(_job_folder(facts), word) for word in expand(words, values)]


def _job_folder(facts: Mapping[str, Any]) -> str:
    members = [member for member in facts.get("members", ()) if member["role"] in ("rank", "driver")]
    return str(next((member["cwd"] for member in members if member.get("cwd")), facts.get("cwd") or ""))


def _was_there(sample: Sample, source: Source) -> bool:
    if source.as_of is None:
        return True
    step = source.logs.step
    return step is not None and sample.step is not None and sample.step <= step


def _of_path(path: str, progress: Progress, note: Callable[[str], object]) -> Iterator[Sample]:
    """Of a file, or of a folder of dumps; of Parquet it is told only how many files are done."""
    try:
        files = dumps_in(path) if os.path.isdir(path) else [path]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    total, done = size_of(files), 0

    def blocks(file: str) -> Iterator[bytes]:
        return _watched(Blocks(file), lambda position: progress(done + position, total), note)

    for file in files:
        yield from samples_of(file, blocks)
        done += size_of([file]) or 0
        progress(done, total)


def _watched(blocks: Blocks, told: Callable[[int], object], note: Callable[[str], object]) -> Iterator[bytes]:
    for block in blocks:
        yield block
        told(blocks.position)
    if blocks.cut is not None:
        note(f"{blocks.path}: {blocks.cut}")


def _counted(blocks: Iterable[bytes], total: int, progress: Progress) -> Iterator[bytes]:
    done = 0
    for block in blocks:
        yield block
        done += len(block)
        progress(done, total)
