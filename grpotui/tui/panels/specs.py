"""Which metrics the charts of the first page show, and what belongs to each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Spec:
    """What a chart shows: the first of the metrics that the run prints. Names that end in `/` are beginnings."""

    metrics: tuple[str, ...]
    title: str = ""
    """Where the run prints none of them; else the metric's name, which tells the kind."""
    noted: tuple[tuple[str, str], ...] = ()
    """(metric, form) of what follows the last value: `cut {:.1%}`."""
    marked: str | None = None
    """What the names of the metrics begin with whose points are marked in it."""
    parts: tuple[str, ...] = ()
    """Metrics of the same scale that are lines beside it once it is zoomed."""
    related: tuple[str, ...] = ()
    """Others that belong to it, told in numbers once it is zoomed."""


SPECS: Final = (
    Spec(
        ("reward/mean", "score/mean"),
        "reward",
        marked="val/",
        parts=("reward/part/", "score/mean"),
        related=("val/", "reward/", "score/", "advantage/"),
    ),
    Spec(("kl/reference", "kl/update", "kl/mismatch"), "kl", related=("kl/", "loss", "learning_rate")),
    Spec(("entropy",), "entropy", related=("entropy/", "kl/", "clip_ratio")),
    Spec(
        ("clip_ratio", "clip_ratio/high", "clip_ratio/low"),
        "clip_ratio",
        parts=("clip_ratio/high", "clip_ratio/low"),
        related=("kl/update", "kl/mismatch", "value/clip_ratio"),
    ),
    Spec(
        ("length/mean",),
        "length",
        noted=(("length/truncated", "cut {:.1%}"),),
        related=("length/", "prompt/mean", "tokens_total", "tokens_per_s", "time/generate", "engine/"),
    ),
    Spec(("grad_norm",), "grad_norm", related=("loss", "loss/", "learning_rate", "value/", "time/update")),
)
"""The six that are always there."""

TELLING: Final = (
    "reward/zero_std_groups",
    "reward/std",
    "length/truncated",
    "tokens_per_s",
    "time/step",
    "kl/mismatch",
    "engine/kv_cache",
    "engine/waiting",
    "reward/part/",
    "val/",
    "loss",
    "learning_rate",
    "length/max",
    "advantage/max",
    "memory/allocated_max",
    "value/explained_variance",
    "kl/update",
    "score/mean",
    "time/generate",
    "time/update",
)
"""What more is shown where there is room for it, in this order."""


def fitting(wanted: Iterable[str], names: Sequence[str], without: Iterable[str] = ()) -> list[str]:
    """The run's metrics that are meant by names and beginnings of names, each once, in their order."""
    known = set(names)
    found = {
        name: None
        for want in wanted
        for name in ([want] if want in known else sorted(n for n in names if want.endswith("/") and n.startswith(want)))
    }
    return [name for name in found if name not in set(without)]


def chosen(spec: Spec, names: Sequence[str]) -> str:
    """The metric that a chart shows, or would show."""
    return next((name for name in spec.metrics if name in names), spec.metrics[0])


def further(count: int, pinned: Sequence[str], names: Sequence[str]) -> list[str]:
    """Metrics for so many more charts: the pinned ones, then the most telling of the others."""
    shown = [chosen(spec, names) for spec in SPECS]
    mine = [name for name in dict.fromkeys(pinned) if name not in shown]
    return [*mine, *fitting(TELLING, names, (*shown, *mine))][:count]
