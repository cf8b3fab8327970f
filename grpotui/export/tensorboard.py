"""Metrics of a source as an event file of TensorBoard: canonical names as tags, the framework's keys under `raw/`."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from grpotui.landing import landing
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.logs import event_writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui.progress import Progress
    from grpotui_supervisor.source.metrics import Metrics

MARK: Final = "tfevents"
"""TensorBoard reads every file with this in its name, all files of one folder as one run."""


def check_folder(folder: str) -> None:
    """Says before the work what would stop it.

    Raises:
        UsageError: the folder holds an event file, is none, or cannot be looked into.
    """
    try:
        there = [name for name in os.listdir(folder) if MARK in name]
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{folder} cannot be used: {error.strerror}") from error
    if there:
        raise UsageError(
            f"{folder} holds an event file already: {min(there)}",
            hint="TensorBoard would show both as one run: name another folder",
        )


def write(
    metrics: Metrics, times: Sequence[float | None], folder: str, progress: Progress
) -> tuple[str, dict[str, int]]:
    """Makes the folder and one event file in it; its path, and how much was left out or is not known, by kind.

    Raises:
        UsageError: it cannot be written, or no row has a step.
    """
    if not any(metrics.step_of(row) is not None for row in range(metrics.steps)):
        raise UsageError("no row tells its step, and TensorBoard needs one", hint="--to jsonl writes them all the same")
    check_folder(folder)
    made = _make(folder)
    known = [time for time in times if time is not None]
    path = os.path.join(folder, f"events.out.{MARK}.{int(known[0]) if known else 0:010d}.grpotui")
    counts = {"rows of unknown step left out": 0, "numbers too large for single precision left out": 0}
    counts["rows of unknown time, which TensorBoard shows as 1970"] = 0
    try:
        with landing(path) as out:
            out.write(event_writing.beginning(known[0] if known else None))
            for row in range(metrics.steps):
                out.write(_event(metrics, row, times[row], counts))
                progress(row + 1, metrics.steps)
    except BaseException:
        if made:
            with suppress(OSError):
                os.rmdir(folder)
        raise
    return path, {words: count for words, count in counts.items() if count}


def _event(metrics: Metrics, row: int, time: float | None, counts: dict[str, int]) -> bytes:
    step = metrics.step_of(row)
    unknown_step, too_large, unknown_time = counts
    if step is None:
        counts[unknown_step] += 1
        return b""
    counts[unknown_time] += time is None
    named = metrics.metrics(row)
    pairs = [*named.items(), *((f"raw/{key}", value) for key, value in metrics.raw(row).items())]
    fitting = [pair for pair in pairs if event_writing.fits(pair[1])]
    counts[too_large] += len(pairs) - len(fitting)
    return event_writing.scalars(time, step, fitting)


def _make(folder: str) -> bool:
    """Whether it was not there."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}") from error
    return True
