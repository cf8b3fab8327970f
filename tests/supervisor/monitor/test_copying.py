"""Copies of logs that somebody else rotates, truncates and deletes: no byte lost, none doubled, whoever copies."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.runs import records
from support.schemas import check_lines

from grpotui_supervisor.follow import Records
from grpotui_supervisor.monitor import copying
from grpotui_supervisor.monitor.copying import Copies
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim.journal import Journal
from grpotui_supervisor.source.blocks import is_packed
from grpotui_supervisor.source.followed import Followed

if TYPE_CHECKING:
    from pathlib import Path


class Scene:
    """One log and its copy; `again` is what a new monitor does after the death of the last one."""

    def __init__(self, path: Path) -> None:
        self.log = path / "train.log"
        self.run = path / "run"
        (self.run / "ranks/log").mkdir(parents=True)
        self.again()

    def again(self) -> None:
        followed = Followed()
        for record in Records(str(self.run / "timeline.jsonl")).until(None):
            followed.take(record)
        timeline = Journal(str(self.run / "timeline.jsonl"), "node-0", writer="monitor")
        timeline.begin()
        place = {"path": str(self.log), "member": "log", "stream": "stdout", "packed": is_packed(str(self.log))}
        self.copies = Copies(RunDirectory(str(self.run)), timeline, [place], known=followed.logs)

    def look(self) -> bytes:
        while self.copies.look():
            pass
        return (self.run / "ranks/log/stdout.log").read_bytes()

    def events(self) -> list[str]:
        check_lines("timeline", (self.run / "timeline.jsonl").read_bytes().splitlines())
        found = [r for r in records(self.run / "timeline.jsonl") if r["ev"] != "header"]
        return [r["why"] if r["ev"] in ("origin", "missing") else r["ev"] for r in found]

    def append(self, content: bytes) -> None:
        with self.log.open("ab") as file:
            file.write(content)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.parametrize("again", [False, True], ids=["same monitor", "another monitor"])
class TestOneLog:
    def test_parts_of_lines(self, scene: Scene, *, again: bool) -> None:
        scene.append(b"step:1 - a:")
        assert scene.look() == b"step:1 - a:"
        if again:
            scene.again()
        scene.append(b"0.5\n\x00\xff\xfe\r 10%|#\r")
        assert scene.look() == b"step:1 - a:0.5\n\x00\xff\xfe\r 10%|#\r"
        assert scene.events() == ["attached"]

    def test_rotation_reads_the_rest_of_the_old_file_first(self, scene: Scene, *, again: bool) -> None:
        scene.append(b"one\n")
        scene.look()
        writer = scene.log.open("ab")
        os.rename(scene.log, f"{scene.log}.1")
        scene.log.touch()
        if again:
            scene.again()
        assert scene.look() == b"one\n"
        with writer:  # it has not reopened yet
            writer.write(b"two\nthr")
        assert scene.look() == b"one\ntwo\nthr"
        with open(f"{scene.log}.1", "ab") as old:
            old.write(b"ee\n")
        scene.append(b"four\n")
        assert scene.look() == b"one\ntwo\nthree\nfour\n"
        assert scene.events() == ["attached", "rotated"]

    def test_truncation_starts_at_the_beginning(self, scene: Scene, *, again: bool) -> None:
        scene.append(b"one\ntw")
        scene.look()
        os.truncate(scene.log, 0)
        if again:
            scene.again()
        scene.look()
        scene.append(b"three\n")
        assert scene.look() == b"one\ntw\nthree\n"  # an open line does not run into another file's first one
        assert scene.events() == ["attached", "truncated"]

    def test_a_truncation_that_has_grown_past_the_old_place(self, scene: Scene, *, again: bool) -> None:
        scene.append(b"one\n")
        scene.look()
        os.truncate(scene.log, 0)
        scene.append(b"a longer line than before\n")
        if again:
            scene.again()
        assert scene.look() == b"one\na longer line than before\n"
        assert scene.events() == ["attached", "truncated"]

    def test_deletion_is_said_and_the_new_one_is_read(self, scene: Scene, *, again: bool) -> None:
        scene.append(b"one\n")
        scene.look()
        scene.log.unlink()
        scene.look()
        if again:
            scene.again()
        scene.look()
        scene.append(b"two\n")
        assert scene.look() == b"one\ntwo\n"
        missed = ["missed"] if again else []
        assert scene.events() == ["attached", "deleted", *missed, "rotated"]

    def test_a_late_file_is_no_history(self, scene: Scene, *, again: bool) -> None:
        scene.look()
        if again:
            scene.again()
        scene.append(b"one\n")
        assert scene.look() == b"one\n"
        assert scene.events() == ["not there yet", "appeared"]


def test_what_comes_to_the_old_file_too_late_is_said(scene: Scene) -> None:
    scene.append(b"one\n")
    scene.look()
    os.rename(scene.log, f"{scene.log}.1")
    scene.append(b"two\n")
    assert scene.look() == b"one\ntwo\n"
    with open(f"{scene.log}.1", "ab") as old:
        old.write(b"late\n")
    assert scene.look() == b"one\ntwo\n"
    assert scene.events() == ["attached", "rotated", "missed"]
    assert "5 bytes came to the old file" in records(scene.run / "timeline.jsonl")[-1]["why"]


def test_another_monitor_between_any_two_writes(scene: Scene) -> None:
    """Killed behind the record of an origin and before the byte that ends the open line: nothing is doubled."""
    scene.append(b"one")
    scene.look()
    os.truncate(scene.log, 0)
    scene.append(b"second file\n")
    copy = scene.run / "ranks/log/stdout.log"
    scene.look()
    os.truncate(copy, 3)  # as if it had died just then
    scene.again()
    assert scene.look() == b"one\nsecond file\n"
    os.truncate(copy, 4)
    scene.again()
    assert scene.look() == b"one\nsecond file\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(data=st.data())
def test_any_order_of_writes_looks_rotations_and_deaths(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    scene, written, number = Scene(tmp_path_factory.mktemp("scene")), b"", 0
    scene.log.touch()
    for step in data.draw(st.lists(st.sampled_from(["write", "look", "rotate", "die"]), max_size=15)):
        if step == "write":
            line = b"%d\x00\xff line\n" % number
            number += 1
            written += line
            scene.append(line)
        elif step == "look":
            scene.look()
        elif step == "rotate":
            scene.look()  # two rotations between two looks are one too many for anybody
            os.rename(scene.log, f"{scene.log}.{number}.{len(os.listdir(scene.log.parent))}")
            scene.log.touch()
        else:
            scene.again()
    assert scene.look() == written


def test_a_budget_ends_a_look(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BUDGET", 1 << 20)
    content = os.urandom(3_500_000)
    scene.append(content)
    assert scene.copies.look()
    assert (scene.run / "ranks/log/stdout.log").stat().st_size <= 2 << 20
    assert scene.look() == content


def test_a_compressed_log_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"".join(b"step:%d - a:0.5\n" % n for n in range(200_000))
    (tmp_path / "train.log").write_bytes(gzip.compress(content, 1))
    monkeypatch.setattr(copying, "BUDGET", 1 << 20)
    scene = Scene(tmp_path)
    assert scene.copies.look()
    scene.again()  # goes on behind what the copy holds
    assert scene.look() == content
    assert scene.copies.are_read
    assert scene.events() == ["attached", "read"]
    scene.again()
    assert scene.look() == content


WIDE = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from monitor.test_copying import Scene
scene = Scene(Path({folder!r}))
while scene.copies.look():
    pass
for line in open("/proc/self/status"):
    if line.startswith("VmHWM"):
        print(line.split()[1])
"""


def test_a_line_of_100_mb_takes_little_memory(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as file:
        for _ in range(100):
            file.write(b"x" * 1_000_000)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = WIDE.format(path=[folder, *sys.path], folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (tmp_path / "run/ranks/log/stdout.log").stat().st_size == 100_000_000
    assert int(done.stdout) < 120_000, "KiB"


def test_a_pipe_in_its_place_is_not_read(scene: Scene) -> None:
    os.mkfifo(scene.log)
    assert scene.look() == b""
    assert scene.events() == ["not a regular file"]
