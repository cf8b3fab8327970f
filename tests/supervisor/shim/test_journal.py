"""The record file: no cut of a write, wherever it falls, loses or doubles a line."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from grpotui_supervisor.shim.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Writer = Callable[[int, bytes], int]


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """How many bytes each coming write takes: a number, or None for an error; afterwards all of them."""
    plan: list[int | None] = []
    real: Writer = os.write

    def write(fd: int, data: bytes) -> int:
        if fd <= 2 or not plan:
            return real(fd, data)
        count = plan.pop(0)
        if count is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data[:count])

    monkeypatch.setattr("grpotui_supervisor.shim.journal.os.write", write)
    return plan


def lines(path: Path) -> list[dict[str, Any]]:
    """What a reader takes from the file."""
    found = []
    for raw in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(raw))
        except ValueError:
            continue
    return found


def length_of_a_line(tmp_path: Path) -> int:
    """Of the line that the tests cut."""
    journal = Journal(str(tmp_path / "measure"), "node-0", writer="test")
    journal.begin()
    before = (tmp_path / "measure").stat().st_size
    journal.add("exit", rank=3)
    return (tmp_path / "measure").stat().st_size - before


def test_a_write_cut_anywhere(tmp_path: Path, writes: list[int | None]) -> None:
    """Also right before the newline, where the line is whole already."""
    for cut in range(length_of_a_line(tmp_path) + 1):
        for again in (None, 0, 1, 30):
            path = tmp_path / f"{cut}-{again}"
            journal = Journal(str(path), "node-0", writer="test")
            journal.begin()
            writes[:] = [cut, again, None]
            seq = journal.add("exit", rank=3)
            written = journal.is_written(seq)
            assert written == ("exit" in [r.get("ev") for r in lines(path)]), "reaped only when it can be read"
            writes.clear()
            journal.add("done")
            assert journal.flush()
            assert [r["ev"] for r in lines(path)] == ["header", "exit", "done"]


def test_a_successor_goes_on_after_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "record"
    for cut in range(1, length_of_a_line(tmp_path)):
        path.unlink(missing_ok=True)
        first = Journal(str(path), "node-0", writer="test")
        first.begin()
        size = path.stat().st_size
        first.add("exit", rank=3)
        os.truncate(path, size + cut)
        second = Journal(str(path), "node-0", writer="test")
        assert second.begin()
        kept = [r["ev"] for r in second.read()]
        second.add("done")
        assert [r["ev"] for r in lines(path)] == [*kept, "done"]
        assert [r["seq"] for r in lines(path)] == list(range(1, len(kept) + 2))


def test_what_waits_is_seen_by_the_successor(tmp_path: Path, writes: list[int | None]) -> None:
    """As after a fork: both share the file and the spill, and the first is gone."""
    path = tmp_path / "record"
    journal = Journal(str(path), "node-0", writer="test", spill=True)
    journal.begin()
    writes[:] = [None] * 10
    seqs = [journal.add("stop", n=n) for n in range(3)]
    assert not any(journal.is_written(seq) for seq in seqs)
    assert journal.begin()
    assert [r["ev"] for r in journal.read()] == ["header", "stop", "stop", "stop"]
    assert not journal.is_written(seqs[0])
    writes.clear()
    assert journal.add("done") == seqs[-1] + 1
    assert [(r["ev"], r.get("n")) for r in lines(path)][1:] == [("stop", 0), ("stop", 1), ("stop", 2), ("done", None)]
    journal.begin()
    assert len(list(journal.read())) == 5, "and none is taken twice"


def test_a_line_of_the_past_says_when_it_was_written(tmp_path: Path, writes: list[int | None]) -> None:
    journal = Journal(str(tmp_path / "record"), "node-0", writer="test")
    journal.begin()
    writes[:] = [None]
    journal.add("exit")
    journal._waiting[0]["m"] = int(str(journal._waiting[0]["m"])) - 10**9
    assert journal.flush()
    (late,) = [r for r in lines(tmp_path / "record") if r["ev"] == "exit"]
    assert late["written_m"] - late["m"] >= 10**9


def test_an_unreadable_record_is_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(str(tmp_path / "record"), "node-0", writer="test")
    journal.begin()

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("grpotui_supervisor.shim.journal.os.pread", fail)
    assert list(journal.read()) == []
    assert not journal.begin(), "and not an intact one"
