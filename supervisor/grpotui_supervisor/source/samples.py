"""The samples of a source: what its log prints, and what its trainer dumps to files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.follow import read_range
from grpotui_supervisor.model.placeholders import expand
from grpotui_supervisor.samples.files import log_samples, samples_of
from grpotui_supervisor.source.blocks import Blocks
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
        yield from samples_of(source.path, lambda path: _watched(Blocks(path), progress, note))
        return
    sizes = source.logs.sizes()
    for name in sorted(sizes):
        if name.rpartition("/")[0] == source.logs.metrics_member:
            blocks = read_range(source.directory.file(f"ranks/{name}"), 0, sizes[name])
            yield from log_samples(_counted(blocks, sizes[name], progress))
    for path in dump_paths(source.directory.path, source.facts):
        if os.path.exists(path):
            found = samples_of(path, lambda path: _watched(Blocks(path), progress, note))
            yield from (sample for sample in found if _was_there(sample, source))
        else:
            note(f"{path}, which the profile names for samples, is not there")


def dump_paths(run_dir: str, facts: Mapping[str, Any]) -> list[str]:
    """Where the run's profile says that samples are dumped: `[logs] samples`."""
    words = facts.get("profile", {}).get("logs", {}).get("samples", ())
    if not isinstance(words, list | tuple):
        return []
    values = {"run_dir": (run_dir,), "profile_dir": (os.path.dirname(str(facts.get("profile_path", ""))),)}
    return [os.path.join(_job_folder(facts), word) for word in expand([str(word) for word in words], values)]


def _job_folder(facts: Mapping[str, Any]) -> str:
    members = [m for m in facts.get("members", ()) if isinstance(m, dict) and m.get("role") in ("rank", "driver")]
    return str(next((m["cwd"] for m in members if m.get("cwd")), facts.get("cwd", "")))


def _was_there(sample: Sample, source: Source) -> bool:
    if source.as_of is None:
        return True
    step = source.logs.reader.step if source.logs.reader is not None else None
    return step is not None and sample.step is not None and sample.step <= step


def _watched(blocks: Blocks, progress: Progress, note: Callable[[str], object]) -> Iterator[bytes]:
    for block in blocks:
        yield block
        progress(blocks.position, blocks.size)
    if blocks.cut is not None:
        note(f"{blocks.path}: {blocks.cut}")


def _counted(blocks: Iterable[bytes], total: int, progress: Progress) -> Iterator[bytes]:
    done = 0
    for block in blocks:
        yield block
        done += len(block)
        progress(done, total)
