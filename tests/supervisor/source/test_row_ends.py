"""Up to which byte of a bare log a record is there."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from grpotui_supervisor.source import row_ends
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.row_ends import pieces

if TYPE_CHECKING:
    from pathlib import Path

STEP = b"step:%d - critic/score/mean:0.5 - actor/entropy:1.25\n"


def verl_log(steps: int, between: int) -> bytes:
    return b"".join(b"words of this step\n" * between + STEP % step for step in range(1, steps + 1))


@pytest.mark.parametrize(("steps", "between"), [(3, 0), (200, 0), (200, 5), (40, 200)])
def test_each_record_ends_with_its_own_line(tmp_path: Path, steps: int, between: int) -> None:
    data = verl_log(steps, between) + b"the end\n"
    (tmp_path / "log").write_bytes(data)
    source = FileSource(str(tmp_path / "log"))
    source.read(row_ends=True)
    ends, at = [], 0
    for step in range(1, steps + 1):
        at = data.index(STEP % step, at) + len(STEP % step)
        ends.append(at)
    found = list(source.row_ends())
    assert found[:-1] == ends[:-1] or all(0 <= a - b <= row_ends.LEAST for a, b in zip(found, ends, strict=True))
    assert source.content_bytes == len(data)
    assert source.no_lines is None


def test_where_records_are_dense_they_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_ends, "LEAST", 1 << 12)
    data = verl_log(600, 1)
    (tmp_path / "log").write_bytes(data)
    source = FileSource(str(tmp_path / "log"))
    source.read(row_ends=True)
    ends = list(source.row_ends())
    assert ends == [data.index(STEP % step) + len(STEP % step) for step in range(1, 601)]


def test_pieces_are_the_block() -> None:
    for block in (b"", b"a", b"line\n" * 1000, b"x" * 5000, b"ab\n" + b"x" * 5000 + b"\ncd"):
        found = list(pieces(block, 64))
        assert b"".join(found) == block
        assert all(len(piece) <= 128 for piece in found)


def test_what_cannot_be_gone_back_in_is_told(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(verl_log(3, 3)))
    source = FileSource(str(tmp_path / "log.gz"))
    source.read(row_ends=True)
    assert source.no_lines == "this log is compressed: unpack it to see its lines"
