"""The line that shows how far grpotui is, and files that appear when they are whole."""

from __future__ import annotations

import io
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from grpotui.landing import landing
from grpotui.progress import Progress
from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    seconds: float,
    total: int | None = 1000,
    name: str = "a\x1b[2Jb",
) -> str:
    """What a work of so many seconds draws that tells how far it is every 10 ms."""
    now = 100.0
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with Progress("reading", name) as progress:
        for done in range(round(seconds * 100)):
            now += 0.01
            progress(done, total)
    return stream.getvalue()


def test_short_work_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert work(monkeypatch, Terminal(), 0.25) == ""


def test_long_work_draws_ten_times_a_second_and_wipes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = work(monkeypatch, Terminal(), 2.3).split("\r")
    assert 18 <= len(drawn) - 2 <= 21
    assert drawn[-1] == "\x1b[K"
    assert all(line.count("\x1b") == 1 for line in drawn[1:])
    assert " of 1000 B, 2" in drawn[-2]


@pytest.mark.parametrize("letter", ["x", "数"])
def test_a_long_name_leaves_room_for_the_numbers(monkeypatch: pytest.MonkeyPatch, letter: str) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    drawn = work(monkeypatch, Terminal(), 1.0, name=letter * 500 + ".log").split("\r")[-2].removesuffix("\x1b[K")
    assert " of 1000 B, " in drawn
    assert drawn.endswith(f"{letter}.log")
    assert sum(2 if char == "数" else 1 for char in drawn) < 60
    monkeypatch.setenv("COLUMNS", "10")
    assert len(work(monkeypatch, Terminal(), 1.0, name="x" * 50).split("\r")[-2].removesuffix("\x1b[K").rstrip()) < 10


def test_of_a_pipe_no_share_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = work(monkeypatch, Terminal(), 1.0, None)
    assert drawn
    assert "%" not in drawn


def test_without_a_terminal_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert work(monkeypatch, io.StringIO(), 60.0) == ""


def test_a_file_appears_whole(tmp_path: Path) -> None:
    with landing(str(tmp_path / "a")) as out:
        out.write(b"half")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_bytes() == b"half"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_after_an_error_nothing_is_left(tmp_path: Path, error: type[BaseException]) -> None:
    expected = UsageError if error is OSError else error
    with pytest.raises(expected), landing(str(tmp_path / "a")):
        raise error
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
def test_never_over_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    """Also one that came meanwhile, and where the file system has no links."""

    def refuse(*_: str) -> None:
        raise PermissionError(1, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    arriving = landing(str(tmp_path / "a"))
    arriving.__enter__().write(b"mine")
    (tmp_path / "a").write_bytes(b"theirs")
    with pytest.raises(UsageError, match="exists"):
        arriving.__exit__(None, None, None)
    assert (tmp_path / "a").read_bytes() == b"theirs"
    with landing(str(tmp_path / "b")):
        pass
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_link_to_nowhere_is_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("nowhere")
    with pytest.raises(UsageError, match="exists"), landing(str(tmp_path / "a")):
        pass
