"""Curves of metrics: their x by every axis, only what is new, whatever is missing in between."""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING

import pytest

from grpotui_supervisor.source.curves import Curves
from grpotui_supervisor.source.file_source import FileSource

if TYPE_CHECKING:
    from pathlib import Path

STEP = "step:{} - critic/rewards/mean:{} - actor/entropy:1.0{}"


@pytest.fixture
def curves(tmp_path: Path) -> Curves:
    """Five steps; the third has no gradient norm."""
    rows = [STEP.format(n, n / 10, "" if n == 3 else f" - actor/grad_norm:{n}.0") for n in range(1, 6)]
    path = tmp_path / "verl.log"
    path.write_text("\n".join([*rows, ""]))
    source = FileSource(str(path))
    source.read()
    return Curves(source.logs)


def test_a_metric_of_every_row_and_one_that_is_missing_in_one(curves: Curves) -> None:
    assert list(curves.curve("reward/mean").x) == [1.0, 2.0, 3.0, 4.0, 5.0]
    found = curves.curve("grad_norm")
    assert (list(found.x), list(found.values)) == ([1.0, 2.0, 4.0, 5.0], [1.0, 2.0, 4.0, 5.0])


def test_from_an_index_on(curves: Curves) -> None:
    version = curves.curve("grad_norm").version
    assert list(curves.curve("grad_norm", 2, version).x) == [4.0, 5.0]
    assert list(curves.curve("grad_norm", 4, version).x) == []
    assert list(curves.curve("grad_norm", 2, version, rows=4).x) == [4.0]


def test_a_log_has_no_times(curves: Curves) -> None:
    assert all(isnan(x) for x in curves.curve("reward/mean", axis="time").x)


def test_a_step_that_is_not_told_is_its_row(curves: Curves, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = curves._metrics.columns
    assert columns is not None
    columns.steps[1] = -1
    assert list(curves.curve("reward/mean").x) == [1.0, 2.0, 3.0, 4.0, 5.0]
    columns.steps[3] = -1
    assert list(curves.curve("grad_norm").x) == [1.0, 2.0, 4.0, 5.0]
    moments = [1_000_000_000, -1, 3_000_000_000, 4_000_000_000, 5_500_000_000]
    monkeypatch.setattr(type(curves._metrics), "moments", property(lambda _: moments))
    assert list(curves.curve("reward/mean", axis="time").x) == pytest.approx([1.0, nan, 3.0, 4.0, 5.5], nan_ok=True)
    assert list(curves.curve("grad_norm", axis="time").x) == pytest.approx([1.0, nan, 4.0, 5.5], nan_ok=True)
