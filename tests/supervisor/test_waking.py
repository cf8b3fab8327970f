"""Waiting for files: at once where the kernel tells, in time where it does not."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from grpotui_supervisor import inotify, waking
from grpotui_supervisor.waking import Waker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def waker() -> Iterator[Waker]:
    found = Waker(poll_s=0.05)
    yield found
    found.close()


def quiet(waker: Waker) -> None:
    """Until nothing is new to it."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        began = time.monotonic()
        waker.wait(0.1)
        if time.monotonic() - began > 0.09:
            return
    raise AssertionError("it never rests")


def woken_after(waker: Waker, act: Callable[[], object], seconds: float = 20.0) -> float:
    """How long a wait lasts in which that is done."""
    thread = threading.Timer(0.05, act)
    thread.start()
    began = time.monotonic()
    waker.wait(seconds)
    thread.join()
    return time.monotonic() - began


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


def test_growth_of_a_file(tmp_path: Path, waker: Waker) -> None:
    path = tmp_path / "log"
    path.touch()
    waker.watch([str(path)])
    waker.wait(20)  # the first wait only lays the watches: what came before must be looked at
    quiet(waker)
    assert woken_after(waker, lambda: append(path)) < 5
    assert not waker.is_polling


def test_a_file_that_appears_is_replaced_and_comes_back(tmp_path: Path, waker: Waker) -> None:
    path = tmp_path / "log"
    waker.watch([str(path)])
    waker.wait(20)
    acts = [
        path.touch, lambda: append(path), lambda: os.rename(path, f"{path}.1"), path.touch, lambda: append(path),
        path.unlink, path.touch, lambda: append(path),
    ]  # fmt: skip
    for act in acts:
        quiet(waker)
        assert woken_after(waker, act) < 5, act


def test_other_files_of_the_folder_do_not_wake(tmp_path: Path, waker: Waker) -> None:
    path, other = tmp_path / "log", tmp_path / "other"
    path.touch()
    other.touch()
    waker.watch([str(path)])
    quiet(waker)
    assert woken_after(waker, lambda: append(other), 0.4) > 0.35


def test_a_descriptor_wakes(tmp_path: Path, waker: Waker) -> None:
    waker.watch([str(tmp_path / "log")])
    quiet(waker)
    reader, writer = os.pipe()
    os.write(writer, b"x")
    began = time.monotonic()
    waker.wait(20, [reader])
    assert time.monotonic() - began < 5
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("reason", ["asked for", "no instance", "network", "no watch"])
def test_polling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    def refuse(*_: object) -> int:
        raise OSError(28, "used up")

    if reason == "asked for":
        monkeypatch.setenv("GRPOTUI_POLL", "1")
    elif reason == "network":
        monkeypatch.setattr(waking, "is_network_file_system", lambda _: "nfs4")
    elif reason == "no watch":
        monkeypatch.setattr(inotify.Inotify, "add", refuse)
    else:
        monkeypatch.setattr(inotify.Inotify, "__init__", refuse)
    path = tmp_path / "log"
    path.touch()
    waker = Waker(poll_s=0.05)
    waker.watch([str(path)])
    began = time.monotonic()
    waker.wait(20)
    waker.wait(20)
    assert time.monotonic() - began < 5
    assert waker.is_polling
    waker.close()
