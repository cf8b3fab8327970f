"""What the demo prints: verl's console lines (0.5 and later) on stdout, a tqdm-like bar on stderr."""

from __future__ import annotations

import contextlib
import pprint
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from demo_ranks import Ranks

BAR_CELLS = 10


def say(line: str) -> None:
    """Print a line at once: whoever follows the log wants it now, not when a buffer is full."""
    print(line, flush=True)


def step_line(step: int, metrics: Mapping[str, float]) -> str:
    """Write a step's metrics as verl's `concat_dict_to_str` does, numbers with all their digits."""
    return " - ".join([f"step:{step}", *(f"{key}:{value!r}" for key, value in metrics.items())])


def validation_text(metrics: Mapping[str, float]) -> str:
    """Write the last validation as verl does, which pretty-prints the finished string, quotes and all."""
    return pprint.pformat(f"Final validation metrics: {dict(metrics)}")


class Progress:
    """A bar like tqdm's in ASCII: each state overwrites the one before with a carriage return."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._start = time.monotonic()
        self.draw(0)

    def draw(self, done: int) -> None:
        """Show that `done` steps are finished."""
        seconds = time.monotonic() - self._start
        filled, part = divmod(done * BAR_CELLS * 10 // self._total, 10)
        cells = ("#" * filled + (str(part) if part else "")).ljust(BAR_CELLS)
        left = f"{clock(seconds / done * (self._total - done))}, {rate(done, seconds)}" if done else "?, ?it/s"
        percent = done * 100 // self._total
        sys.stderr.write(f"\rTraining Progress: {percent:3d}%|{cells}| {done}/{self._total} [{clock(seconds)}<{left}]")
        sys.stderr.flush()

    def close(self) -> None:
        """End the bar's line."""
        sys.stderr.write("\n")
        sys.stderr.flush()


def clock(seconds: float) -> str:
    """Write a duration as minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"


def rate(done: int, seconds: float) -> str:
    """Write a speed as tqdm does: steps a second, or seconds a step if that is more than one."""
    return f"{seconds / done:5.2f}s/it" if seconds > done else f"{done / max(seconds, 1e-9):5.2f}it/s"


class Stopwatch:
    """Measures the phases of one step (wall seconds)."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what happens inside."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def means(ranks: Ranks, values: Mapping[str, float]) -> dict[str, float]:
    """Average one number a name over the ranks."""
    totals = ranks.all_reduce(values.values())
    return {name: totals[index] / ranks.world for index, name in enumerate(values)}


def spreads(ranks: Ranks, samples: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Reduce samples over all ranks to `name/mean`, `name/max` and `name/min`. No sample may be empty."""
    sums = ranks.all_reduce([number for values in samples.values() for number in (sum(values), len(values))])
    ends = ranks.all_reduce([end for values in samples.values() for end in (max(values), -min(values))], max)
    result: dict[str, float] = {}
    for index, name in enumerate(samples):
        result[f"{name}/mean"] = sums[2 * index] / sums[2 * index + 1]
        result[f"{name}/max"] = ends[2 * index]
        result[f"{name}/min"] = -ends[2 * index + 1] + 0.0  # + 0.0 turns -0.0, the negative of 0.0, back
    return result
