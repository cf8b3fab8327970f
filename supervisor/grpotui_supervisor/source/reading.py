"""Reads a source to its end, and tells when its rows of metrics were printed, as far as that is on record."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grpotui_supervisor.follow import Records
from grpotui_supervisor.logs.tensorboard import TensorBoardReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui_supervisor.source.file_source import FileSource
    from grpotui_supervisor.source.source import Source

    Progress = Callable[[int, int | None], object]


def read_run(source: Source, progress: Progress) -> list[float | None]:
    """Reads the logs to their last record; the Unix time of each row: when the log was first seen to hold it.

    `progress` is told how many bytes of how many were read.
    """
    records = list(Records(source.directory.file("timeline.jsonl")).until(None))
    count_bytes(source, progress)
    times: list[float | None] = []
    for record in records:
        source.logs.take(record)
        stamp = record.get("t")
        times += [float(stamp) if isinstance(stamp, float | int) else None] * (source.logs.steps - len(times))
    return times


def read_log(source: FileSource, progress: Progress) -> list[float | None]:
    """Reads the file; the wall times of an event file by row, and of any other file None for each."""
    source.read(progress)
    logs = source.logs
    if not isinstance(logs.reader, TensorBoardReader):
        return [None] * logs.steps
    steps, walls = logs.reader.columns.steps, logs.reader.walls()
    return [walls.get(step) or None for step in steps]


def count_bytes(source: Source, progress: Progress) -> None:
    """Has `progress` told while the run's logs are read."""
    total, done = _bytes_of_logs(source), 0

    def on_read(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    source.logs.on_read = on_read


def _bytes_of_logs(source: Source) -> int | None:
    """Of the logs that hold the metrics, as they lie there now."""
    folder = source.directory.file(f"ranks/{source.logs.metrics_member}")
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.name.endswith(".log"))
    except OSError:
        return None
