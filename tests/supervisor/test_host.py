"""Samples of process trees and of the machine, against real processes."""

from __future__ import annotations

import os
import subprocess
import sys

from support.waiting import wait_until

from grpotui_supervisor import facts, host

TREE = "import subprocess,sys;x=bytearray(30<<20);subprocess.run([sys.executable,'-c','x=bytearray(30<<20);input()'])"


def test_a_tree_counts_everything_below_its_root() -> None:
    with subprocess.Popen([sys.executable, "-c", TREE], stdin=subprocess.PIPE) as root:
        found = wait_until(
            lambda: tree if (tree := host.trees([root.pid])[root.pid]).rss_bytes > 60 << 20 else None,
            what="two processes",
        )
        assert found.processes == 2
        assert found.cpu_s >= 0
        root.communicate(b"\n", timeout=20)
    assert host.trees([root.pid]) == {}


def test_written_bytes_grow_with_what_is_written(tmp_path: os.PathLike[str]) -> None:
    before = host.trees([os.getpid()])[os.getpid()].written_bytes
    with open(os.path.join(tmp_path, "x"), "wb") as file:
        file.write(b"x" * (3 << 20))
    assert host.trees([os.getpid()])[os.getpid()].written_bytes - before >= 3 << 20


def test_the_machine() -> None:
    machine = host.machine()
    assert 0 < machine["memory_available_bytes"] <= machine["memory_total_bytes"]
    assert machine["oom_kills"] is None or machine["oom_kills"] >= 0


def test_git_state(tmp_path: os.PathLike[str]) -> None:
    assert facts.git_state(str(tmp_path)) == {"unavailable": "not a git work tree with a commit"}
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    with open(os.path.join(tmp_path, "new"), "w", encoding="utf-8"):
        found = facts.git_state(str(tmp_path))
    assert len(found["commit"]) == 40
    assert found["changed_files"] == 1
