"""Run directories: made, found, checked, locked."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grpotui_supervisor import rundir
from grpotui_supervisor.errors import RunDirectoryError, SchemaError, UsageError

if TYPE_CHECKING:
    from grpotui_supervisor.rundir import RunDirectory

FACTS = {"schema": 1, "run": "x", "directory": "/x"}


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "root")


def made(root: str, name: str, moment: int) -> RunDirectory:
    directory = rundir.create(root, name)
    rundir.write_facts(directory, FACTS)
    os.utime(directory.file("run.json"), ns=(moment, moment))
    return directory


def test_an_id_tells_name_and_time(root: str) -> None:
    directory = rundir.create(root, "demo", now=0)
    assert re.fullmatch(r"demo-19(70|69)\d{4}-\d{6}-[0-9a-f]{4}", directory.run_id)
    assert sorted(os.listdir(directory.path)) == ["control", "ranks"]


def test_no_two_runs_share_an_id(root: str) -> None:
    assert len({rundir.create(root, "x", now=0).run_id for _ in range(200)}) == 200


def test_when_all_ids_are_taken_it_says_so(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _count: "same")
    rundir.create(root, "x", now=0)
    with pytest.raises(RunDirectoryError, match="no free run id"):
        rundir.create(root, "x", now=0)


def test_a_directory_is_a_run_once_it_has_its_facts(root: str) -> None:
    directory = rundir.create(root, "x")
    assert list(rundir.runs(root)) == []
    rundir.write_facts(directory, FACTS)
    assert list(rundir.runs(root)) == [directory]
    assert directory.facts() == FACTS


def test_facts_that_the_disk_does_not_take_leave_nothing(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = rundir.create(root, "x")

    def full(*_arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("os.rename", full)
    with pytest.raises(RunDirectoryError, match="No space left") as caught:
        rundir.write_facts(directory, FACTS)
    assert caught.value.hint is not None
    assert "free some space" in caught.value.hint
    assert not os.path.exists(directory.path)


def test_numbers_that_json_lacks_are_words(root: str) -> None:
    directory = rundir.create(root, "x")
    values = {"a": [float("nan"), {"b": float("inf")}], "c": -float("inf"), "d": (1.5,)}
    rundir.write_facts(directory, {**FACTS, "profile": {"training": values}})
    text = Path(directory.file("run.json")).read_text()
    document = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert document["profile"]["training"] == {"a": ["nan", {"b": "inf"}], "c": "-inf", "d": [1.5]}


def test_runs_are_found_newest_first(root: str) -> None:
    first, third, second = made(root, "a", 1), made(root, "b", 3), made(root, "c", 2)
    os.symlink(first.path, f"{root}/runs/link")
    (open(f"{root}/runs/file", "w")).close()
    assert list(rundir.runs(root)) == [third, second, first]
    assert rundir.latest(root) == third
    assert rundir.find(second.run_id, root) == rundir.find("c", root) == rundir.find(second.path, root) == second


def test_what_fits_no_run_or_several(root: str) -> None:
    with pytest.raises(UsageError, match="no run 'x'") as none:
        rundir.find("x", root)
    assert none.value.hint == "there is none yet: grpotui launch demo"
    runs = [made(root, "x", moment) for moment in range(12)]
    with pytest.raises(UsageError, match="fits 12 runs") as several:
        rundir.find("x-", root)
    assert str(several.value).count("x-2") == 10  # the rest is left out, and that is shown
    assert str(several.value).endswith("…")
    with pytest.raises(UsageError, match="no run") as near:
        rundir.find(f"{runs[0].run_id[:-1]}z", root)
    assert near.value.hint is not None
    assert "did you mean x-" in near.value.hint


def test_schemas(root: str) -> None:
    directory = rundir.create(root, "x")
    rundir.write_facts(directory, {**FACTS, "schema": 2})
    with pytest.raises(SchemaError, match="newer grpotui"):
        directory.facts()
    rundir.write_facts(directory, {**FACTS, "unknown": [1], "host": {"unknown": 1}})  # keys that it does not know
    assert directory.facts()["unknown"] == [1]


def test_locks_are_seen_and_left_alone(root: str) -> None:
    directory = rundir.create(root, "x")
    assert not directory.is_locked("shim.lock")  # there is none
    script = (
        "import fcntl, os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT);"
        "fcntl.flock(fd, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, directory.file("shim.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert directory.is_locked("shim.lock")
        holder.kill()
    assert not directory.is_locked("shim.lock")  # the kernel dropped it
    with open(directory.file("shim.lock")) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and looking took nothing


def test_a_request_is_whole_or_absent(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = rundir.create(root, "x")
    names = [directory.request("stop", why=f"because {n}") for n in range(3)]
    files = sorted(os.listdir(directory.file("control")))
    assert files == [f"{name}.json" for name in names]  # their order is the order of asking
    assert json.loads(Path(directory.file(f"control/{files[1]}")).read_text()) == {"what": "stop", "why": "because 1"}

    def full(*_arguments: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match="No space left"):
        directory.request("stop")
    assert sorted(os.listdir(directory.file("control"))) == files


@pytest.mark.parametrize(
    ("path", "mounts", "kind"),
    [
        ("/home/me/runs", "/dev/sda / ext4 rw 0 0\nhost:/home /home nfs4 rw 0 0\n", "nfs4"),
        ("/homely", "/dev/sda / ext4 rw 0 0\nhost:/home /home nfs4 rw 0 0\n", None),
        ("/home/me/disk/x", "host:/home /home nfs4 rw 0 0\n/dev/sdb /home/me/disk xfs rw 0 0\n", None),
        ("/data", "none /data fuse.sshfs rw 0 0\n", "fuse.sshfs"),
        ("/data", "broken\n", None),
    ],
)
def test_network_file_systems(
    path: str, mounts: str, kind: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text(mounts)
    monkeypatch.setattr(rundir, "_MOUNTS", str(tmp_path / "mounts"))
    assert rundir.is_network_file_system(path) == kind
