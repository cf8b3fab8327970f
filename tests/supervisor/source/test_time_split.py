"""Where the time of steps went: as the log prints it, else as the hook saw it, and never both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.metrics import Metrics
from grpotui_supervisor.source.phase_times import PhaseTimes
from grpotui_supervisor.source.probes import Probes
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.step_times import TrainerSteps
from grpotui_supervisor.source.time_split import Splits, split_of, timed_split

if TYPE_CHECKING:
    from collections.abc import Mapping

H200 = Path(__file__).parents[2] / "data" / "runs" / "h200"
S = 1_000_000_000


class Printed(Metrics):
    """Records as a log would print them."""

    def __init__(self, *rows: Mapping[str, float]) -> None:
        super().__init__(None)
        self._rows = rows

    @property
    def steps(self) -> int:
        return len(self._rows)

    def step_of(self, row: int) -> int | None:
        return row + 1

    def metrics(self, row: int) -> dict[str, float]:
        return dict(self._rows[row])


@pytest.fixture
def probes(tmp_path: Path) -> Probes:
    """Two steps of 10 s, in each of which 7 are generation and 2 the update."""
    found = Probes(RunDirectory(str(tmp_path)), {})
    for step in (1, 2):
        begin = step * 100 * S
        found.steps.begin(begin)
        for after, phase in ((0, "generate"), (7, "update"), (9, "rollout"), (10, None)):
            found.phase_times.put(begin + after * S, phase)
        found.steps.end(step, begin + 10 * S)
    return found


def test_a_step_that_the_hook_saw_is_the_sum_of_its_phases(probes: Probes) -> None:
    split = timed_split(1, probes)
    assert split.parts == {"generate": 7.0, "update": 2.0, "rollout": 1.0}
    assert (split.step, split.whole, split.other, split.told_by) == (2, 10.0, 0.0, "hook")


def test_where_the_log_prints_no_parts_the_hook_tells_them(probes: Probes) -> None:
    found = Splits(Printed({"time/step": 9.9}, {"time/step": 9.8}), probes).last(10)
    assert [(split.step, split.whole, split.told_by) for split in found] == [(1, 10.0, "hook"), (2, 10.0, "hook")]


def test_where_the_log_prints_parts_nothing_of_the_hook_is_beside_them(probes: Probes) -> None:
    printed = Printed({"time/step": 9.0, "time/generate": 6.0}, {"time/step": 9.0})
    found = Splits(printed, probes).last(10)
    assert {split.told_by for split in found} == {"log"}
    assert [split.parts for split in found] == [{"generate": 6.0}, {}]


def test_without_the_hook_a_whole_stays_without_parts() -> None:
    found = Splits(Printed({"time/step": 9.0})).last(10)
    assert [(split.parts, split.whole, split.other) for split in found] == [({}, 9.0, None)]


def test_only_so_many_and_the_newest(probes: Probes) -> None:
    assert [split.step for split in Splits(Printed(), probes).last(1)] == [2]


def test_a_step_is_none_before_it_has_ended() -> None:
    steps = TrainerSteps()
    steps.end(1, 5)
    steps.begin(10)
    assert len(steps) == 0
    steps.begin(20)  # it began anew: what was under way never ended
    steps.end(2, 30)
    assert [steps.window(at) for at in range(len(steps))] == [(2, 20, 30)]


def test_parts_that_overlap_leave_no_rest() -> None:
    split = split_of(0, 1, {"time/step": 10.0, "time/generate": 8.0, "time/update": 7.0})
    assert split is not None
    assert split.other is None


def test_phases_are_cut_at_the_ends_that_were_asked_for() -> None:
    told = PhaseTimes(late_ns=0)
    for moment, phase in ((10, "generate"), (20, "update"), (30, None), (40, "generate")):
        told.put(moment, phase)
    assert told.around(15, 50, 9) == [("generate", 15, 20), ("update", 20, 30), ("generate", 40, 50)]
    assert told.around(0, 5, 9) == []
    assert told.around(15, 50, 2) is None


@pytest.mark.parametrize("run", ["normal", "sigkill", "one-gpu"])
def test_real_steps_are_split_without_a_gap(run: str) -> None:
    source = Source(RunDirectory(str(H200 / run)))
    source.update(None)
    found = Splits(source.logs, source.probes).last(100)
    assert [split.step for split in found] == list(range(1, (source.logs.step or 0) + 1))
    for split in found:
        assert split.whole is not None
        assert sum(split.parts.values()) + (split.other or 0.0) == pytest.approx(split.whole)
        assert split.parts["generate"] > split.parts["update"] > 0


def test_a_moment_knows_only_the_steps_that_were_done_then() -> None:
    directory = RunDirectory(str(H200 / "normal"))
    whole, early = Source(directory), Source(directory)
    whole.update(None)
    begun = whole.probes.steps.window(4).begin
    early.update(begun)
    assert [split.step for split in Splits(early.logs, early.probes).last(100)] == [1, 2, 3, 4]
    assert Splits(early.logs, early.probes).last(100) == Splits(whole.logs, whole.probes).last(100)[:4]
