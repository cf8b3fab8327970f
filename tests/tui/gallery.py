"""Every widget with data that is hard to draw, to be looked at: `python tests/tui/gallery.py [PAGE [STEPS]]`.

Pages: overview, hard, overlay, bands, bars.
Keys: `d` dark or light, `b` the set of glyphs, `y` log scale, `x` the axis, `q`.
"""

from __future__ import annotations

import math
import random
import sys
from array import array
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.containers import Grid, Vertical

from grpotui.tui.bars import Step
from grpotui.tui.chart_parts import Axis, Band, Chart, Line, Mark, Threshold
from grpotui.tui.glyphs import SETS
from grpotui.tui.memory import Memory
from grpotui.tui.series import Series
from grpotui.tui.widgets.chart import LineChart
from grpotui.tui.widgets.meter import MemoryMeters
from grpotui.tui.widgets.stacked import StackedBars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType

GIB = 2**30
AXES: tuple[Axis, ...] = ("step", "time", "tokens")


def noise(rng: random.Random, count: int, keep: float = 0.9) -> Iterator[float]:
    """Noise that remembers."""
    value = 0.0
    for _ in range(count):
        value = keep * value + rng.gauss(0, 1)
        yield value


def metric(name: str, count: int) -> list[float]:
    """What the metrics of a run look like."""
    rng, out = random.Random(name), []
    for step, wave in enumerate(noise(rng, count)):
        t = step / max(1, count)
        out.append(
            {
                "reward/mean": 0.15 + 0.6 * (1 - math.exp(-4 * t)) + 0.03 * wave,
                "kl/reference": 0.002 + 0.012 * t * t + 0.001 * abs(wave) + (0.03 if rng.random() > 0.99 else 0),
                "entropy": 1.1 * math.exp(-2.5 * t) + 0.15 + 0.02 * wave,
                "clip_ratio": 0.004 + 0.003 * abs(wave) * t,
                "length/mean": 320 + 400 * t + 20 * wave,
                "grad_norm": math.nan
                if step == count * 3 // 4
                else 0.4 + 0.05 * abs(wave) + (rng.random() > 0.995) * 3,
            }[name]
        )
    return out


def line(values: list[float], name: str = "", start: int = 1) -> Line:
    """Values at steps that follow each other."""
    x = array("d", range(start, start + len(values)))
    return Line(name, Series(x, array("d", values)), len(values))


def overview(count: int) -> list[Chart]:
    """The six of page 1."""
    marks = tuple(Mark("validation", step, 0.2 + 0.4 * step / count) for step in range(50, count, 50))
    saved = tuple(Mark("checkpoint", step) for step in range(100, count, 100))
    return [
        Chart("reward/mean", (line(metric("reward/mean", count)),), marks=marks + saved),
        Chart("kl/reference", (line(metric("kl/reference", count)),), (Threshold("ceiling", 0.05),)),
        Chart("entropy", (line(metric("entropy", count)),), (Threshold("floor", 0.1),)),
        Chart("clip_ratio", (line(metric("clip_ratio", count)),)),
        Chart("length/mean", (line(metric("length/mean", count)),), note="cut 3.1 %"),
        Chart(
            "grad_norm",
            (line(metric("grad_norm", count)),),
            marks=(Mark("finding", count * 3 // 4 + 9, severity="warning"),),
        ),
    ]


def hard(count: int) -> list[Chart]:
    """What is easily drawn wrong."""
    rng = random.Random(1)
    again = array("d", [*range(1, count // 2), *range(count // 3, count)])
    gap = array("d", [*range(count // 4), *range(count // 2, count)])
    return [
        Chart("constant", (line([0.3] * count),)),
        Chart("near 1000", (line([1000 + 0.004 * math.sin(i / 9) for i in range(count)]),)),
        Chart("learning_rate", (line([1e-6 * (1 - i / count) for i in range(count)]),)),
        Chart("negative", (line([-40_000 * math.exp(-i / count) for i in range(count)]),), (Threshold("no", 9e9),)),
        Chart("奖励/均值 reward 😀 x", (line([rng.gauss(0, 1) if i % 40 else math.nan for i in range(count)]),)),
        Chart("three points", (line([0.1, 0.4, 0.2]),), note="of 580"),
        Chart("one point", (line([12.5]),)),
        Chart("began again", (Line("", Series(again, array("d", (math.sqrt(v) for v in again))), len(again)),)),
        Chart("hole", (Line("", Series(gap, array("d", (math.sqrt(v) for v in gap))), len(gap)),)),
        Chart("kl/update", empty="beta is 0: no KL is computed"),
        Chart("huge", (line([10.0 ** (i * 12 / count) for i in range(count)]),)),
        Chart("only nan", (line([math.nan] * count),)),
    ]


def overlay(count: int) -> list[Chart]:
    """Runs over each other: two, three and six, of other lengths and beginnings."""
    runs = [
        line(
            [v + 0.08 * k for v in metric("reward/mean", max(2, count - 30 * k))],
            f"run-{k} 学习率 1e-{k}",
            1 + 10 * (k % 3),
        )
        for k in range(6)
    ]
    return [Chart("reward/mean", tuple(runs[:n])) for n in (2, 3, 6)]


def bands(count: int) -> list[Chart]:
    """Minimum to maximum, mean ± std, and what happens in a run."""
    rng = random.Random(3)
    mean = metric("reward/mean", count)
    std = [0.05 + 0.1 * rng.random() for _ in mean]
    printed = Band("min to max", line([0.0] * count), line([min(1.0, v + 0.5) for v in mean]))
    spread = Band("± std", *(line([v + k * s for v, s in zip(mean, std, strict=True)]) for k in (-1, 1)))
    few = metric("entropy", 12)
    marks = (
        Mark("death", count * 0.6, name="rank 2 killed by SIGKILL"),
        Mark("restart", count * 0.62, name="began again at step 130"),
        Mark("finding", count * 0.3, severity="warning", name="grad_norm nan"),
        Mark("checkpoint", count * 0.5),
    )
    return [
        Chart("reward/mean", (line(mean),), band=printed, marks=marks),
        Chart("reward/mean", (line(mean),), (Threshold("target", 0.7),), band=spread),
        Chart("entropy", (line(few),), band=Band("± std", line([v - 0.1 for v in few]), line([v + 0.1 for v in few]))),
        Chart(
            "advantage", (line(metric("entropy", count)),), band=Band("min to max", line([-40.0] * count), printed.high)
        ),
    ]


def steps(count: int) -> list[Step]:
    """Times of steps."""
    rng, out = random.Random(2), []
    for number in range(1, count + 1):
        parts = {"generate": 24 + rng.gauss(0, 4) + (20 if number % 23 == 0 else 0), "reward": 1.1, "logprob": 3.2}
        parts |= {"update": 9.8 + rng.gauss(0, 1), "sync": 1.1, "other": 0.2}
        out.append(Step(number, parts))
    return out


GPUS = [
    Memory("0", int(139.8 * GIB), 0, int(71.2 * GIB), 38 * GIB, 52 * GIB, "util 98 %"),
    Memory("1", int(139.8 * GIB), int(0.6 * GIB), int(71 * GIB), 38 * GIB, 75 * GIB, "util 97 %"),
    Memory("2", int(139.8 * GIB), None, int(70.8 * GIB)),
    Memory("3", int(139.8 * GIB), 0, None, 38 * GIB, 52 * GIB),
    Memory("4", reason="NVML: Insufficient Permissions"),
]


class Gallery(App[None]):
    """A page of pictures."""

    CSS = """
    Grid { grid-size: 3; grid-gutter: 0; }
    Grid.two { grid-size: 2; }
    #low { height: 9; grid-size: 1; }
    #low.small { height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(("d", "theme"), ("b", "glyphs"), ("y", "log"), ("x", "axis"), ("q", "quit")),
    ]

    def __init__(self, page: str = "overview", count: int = 217) -> None:
        super().__init__()
        self.page, self.count = page, count

    def compose(self) -> ComposeResult:
        charts = {"overview": overview, "hard": hard, "overlay": overlay, "bands": bands}.get(self.page, lambda _: [])(
            self.count
        )
        with Vertical():
            if charts:
                with Grid(classes="two" if self.page in ("overlay", "bands") else ""):
                    for number in range(len(charts)):
                        yield LineChart(colour=number)
            if self.page in ("overview", "bars"):
                yield StackedBars("time per step", id="bars")
                with Grid(id="low"):
                    yield MemoryMeters("GPU memory (GiB, baseline → now)")
        self.charts = charts

    def on_mount(self) -> None:
        small = self.size.height < 30
        for widget, chart in zip(self.query(LineChart), self.charts, strict=True):
            widget.smoothing = 0.9
            widget.show(chart)
        if self.page in ("overview", "bars"):
            self.query_one(StackedBars).styles.height = 2 if small else 8
            self.query_one("#low").styles.height = 5 if small else 9
            self.query_one(StackedBars).show(steps(self.count))
            self.query_one(MemoryMeters).show(GPUS)

    def action_theme(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_glyphs(self) -> None:
        for kind in (LineChart, StackedBars, MemoryMeters):
            for widget in self.query(kind):
                names = list(SETS)
                widget.glyph_set = names[(names.index(widget.glyph_set) + 1) % len(names)]

    def action_log(self) -> None:
        for widget in self.query(LineChart):
            widget.log_y = not widget.log_y

    def action_axis(self) -> None:
        for widget in self.query(LineChart):
            widget.axis = AXES[(AXES.index(widget.axis) + 1) % len(AXES)]


if __name__ == "__main__":
    Gallery(sys.argv[1] if sys.argv[1:] else "overview", int(sys.argv[2]) if sys.argv[2:] else 217).run()
