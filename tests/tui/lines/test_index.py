"""The index finds every line where a slow look finds it, however the file is cut into pieces."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from grpotui.tui.lines import index as module
from grpotui.tui.lines.index import LineIndex
from grpotui.tui.lines.shown import LIMIT, line_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("seed", range(6))
def test_lines_are_found_as_a_slow_look_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(module, "STEP", 64)
    monkeypatch.setattr(module, "BLOCK", 200)
    monkeypatch.setattr(module, "LIMIT", 40)
    lines = [b"x" * rng.choice([0, 0, 1, 7, 30, 63, 64, 65, 300]) for _ in range(200)]
    data = b"\n".join(lines)
    (tmp_path / "log").write_bytes(data)
    index = LineIndex(str(tmp_path / "log"))
    while index.scanned < len(data):
        end = min(len(data), index.scanned + rng.randint(1, 500))
        while index.scanned < end:
            assert index.grow(end)
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    assert index.newlines == len(lines) - 1
    assert index.stop == starts[-1]
    assert [index.offset(number) for number in range(len(lines))] == starts
    first = rng.randrange(150)
    assert list(index.lines(first, 40, index.stop)) == [(line[:40], len(line)) for line in lines[first : first + 40]]


def test_of_a_long_line_the_beginning_is_read_and_of_a_bar_the_end(tmp_path: Path) -> None:
    bar = b"".join(b"\r%3d%%|bar|" % (n // 5000) for n in range(500_000))
    data = b"short\n" + b"x" * 1_000_000 + b"\n" + bar + b"\nlast\n"
    (tmp_path / "log").write_bytes(data)
    index = LineIndex(str(tmp_path / "log"))
    while index.scanned < len(data):
        index.grow(len(data))
    found = list(index.lines(0, 4, index.stop))
    assert [size for _, size in found] == [5, 1_000_000, len(bar), 4]
    assert found[1][0] == b"x" * LIMIT
    assert line_of(found[2][0]) == " 99%|bar|"
    assert found[3][0] == b"last"


def test_a_file_that_is_gone_has_no_lines(tmp_path: Path) -> None:
    index = LineIndex(str(tmp_path / "none"))
    assert not index.grow(100)
    assert list(index.lines(0, 5, 100)) == []
