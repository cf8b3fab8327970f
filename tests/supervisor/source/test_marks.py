"""What a time cursor jumps to: a death of its own is told from an end that grpotui has brought about."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.marks import marks_of
from grpotui_supervisor.source.source import Source

H200 = Path(__file__).parents[2] / "data" / "runs" / "h200"


@pytest.mark.parametrize(
    ("run", "ends"),
    [
        ("sigkill", [("death", "rank 1 ended"), ("end", "rank 0 ended")]),
        ("normal", [("end", "rank 1 ended"), ("end", "rank 0 ended")]),
    ],
)
def test_ends_of_members(run: str, ends: list[tuple[str, str]]) -> None:
    source = Source(RunDirectory(str(H200 / run)))
    source.update(None)
    found = marks_of(source)
    assert sorted(mark.at for mark in found) == [mark.at for mark in found]
    assert [(mark.kind, mark.words) for mark in found if mark.kind in ("death", "end")] == ends
