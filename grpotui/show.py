"""A run at one moment as text: its status, and the last words of what failed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from grpotui import last_words
from grpotui.gpu_text import gpu_lines
from grpotui.leftover_text import leftover_line
from grpotui.text import inert, log_lines, status_lines, step_line
from grpotui_supervisor.source.status import number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from grpotui_supervisor.source.metrics import Metrics
    from grpotui_supervisor.source.source import Source


def status_text(source: Source, document: Mapping[str, Any]) -> str:
    """Several lines, the most telling first."""
    head, *rest = status_lines(document)
    words = [inert(line) for line in last_words.of_first_failure(source, document)]
    left = [inert(leftover_line(left)) for left in document["leftovers"]]
    gpus = gpu_lines(document, shutil.get_terminal_size().columns)
    return "\n".join([head, *words, *rest, *left, *gpus])


def log_text(document: Mapping[str, Any]) -> str:
    """The status of a bare log."""
    return "\n".join(log_lines(document))


def step_lines(metrics: Metrics, rows: int) -> str:
    """The first rows of metrics, a line each."""
    total = metrics.steps_total
    lines = (
        step_line(metrics.step_of(row), total, {key: number(value) for key, value in metrics.metrics(row).items()})
        for row in range(rows)
    )
    return "".join(f"{line}\n" for line in lines)
