"""What a front end is told of, once."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace
from typing import Any

from support.framework_samples import SKYRL_CONSOLE

from grpotui_supervisor.logs import reader_for
from grpotui_supervisor.model.run_state import RunState
from grpotui_supervisor.source.changes import Changes, Stepped
from grpotui_supervisor.source.gpus import Ends, Gpus
from grpotui_supervisor.source.metrics import Metrics


def a_source(metrics: Metrics) -> Any:
    metrics.gaps = []  # type: ignore[attr-defined]
    return SimpleNamespace(
        logs=metrics,
        run=RunState(),
        followed=SimpleNamespace(logs={}, paths={}),
        findings={},
        gpus=Gpus({}),
        ends=Ends(is_alive=True, last_m=None),
        titled=None,
        probes=SimpleNamespace(phase=None, leader=None),
    )


def test_rows_that_take_the_place_of_others_are_told() -> None:
    """SkyRL's losses come without a step, and give way to the tables with one."""
    metrics = Metrics(reader_for("skyrl"))
    source, changes = a_source(metrics), Changes()
    told: list[int | None] = []
    for line in SKYRL_CONSOLE.log.splitlines(keepends=True):
        metrics.feed(line.encode(), moment=len(told))
        run = RunState(members=MappingProxyType({}))
        told += [change.step for change in changes.of(source, run) if isinstance(change, Stepped)]
    assert told == [None, 1, 2]
    assert len(metrics.moments) == metrics.steps == 2
