"""Memory cgroups: trees of files for every layout, and a real one that kills, where this machine lets us make it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.memory_group import inside, memory_group
from support.waiting import wait_until

from grpotui_supervisor import cgroup
from grpotui_supervisor.cgroup import Place, Usage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

V2 = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw"
V1 = "35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
EATER = "import sys\nsys.stdin.readline()\nx = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., Path]:
    """A root with these mounts, this /proc/7/cgroup and these files below /sys/fs/cgroup."""

    def make(mounts: str, named: str, files: dict[str, str]) -> Path:
        for folder in ("proc/7", "proc/self"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc/self/mountinfo").write_text(f"1 0 8:1 / / rw - ext4 /dev/root rw\n{mounts}\n")
        (tmp_path / "proc/7/cgroup").write_text(named)
        for name, text in files.items():
            path = tmp_path / "sys/fs/cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


def look(root: Path) -> Usage | str | None:
    place = cgroup.find(7, root=str(root))
    return place if isinstance(place, str) else cgroup.read(place)


def events(kills: int) -> str:
    return f"low 0\nhigh 0\nmax 12\noom 3\noom_kill {kills}\noom_group_kill 0\n"


def test_version_2_takes_the_lowest_limit_up_the_tree(tree: Callable[..., Path]) -> None:
    files = {
        "job/step/memory.current": "5000\n",
        "job/step/memory.max": "max\n",
        "job/step/memory.events": events(2),
        "job/memory.current": "6000\n",
        "job/memory.max": "8192\n",
        "memory.max": "65536\n",
    }
    assert look(tree(V2.format(root="/"), "0::/job/step\n", files)) == Usage(5000, 8192, 2, 3)


def test_version_2_in_a_container_begins_at_its_own_cgroup(tree: Callable[..., Path]) -> None:
    files = {"memory.current": "1\n", "memory.max": "99\n", "memory.events": events(0)}
    assert look(tree(V2.format(root="/"), "0::/\n", files)) == Usage(1, 99, 0, 3)


def test_version_2_where_memory_is_accounted_further_up(tree: Callable[..., Path]) -> None:
    root = tree(V2.format(root="/"), "0::/user/app\n", {"user/memory.current": "7\n", "user/app/cgroup.procs": ""})
    assert cgroup.find(7, root=str(root)) == Place("v2", f"{root}/sys/fs/cgroup/user", f"{root}/sys/fs/cgroup")
    assert look(root) == Usage(7, None, None, None)


def test_version_1(tree: Callable[..., Path]) -> None:
    files = {
        "memory/slurm/job/memory.usage_in_bytes": "11\n",
        "memory/slurm/job/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/slurm/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
        "memory/slurm/memory.limit_in_bytes": "4096\n",
    }
    named = "9:name=systemd:/\n4:memory:/slurm/job\n1:cpu,cpuacct:/\n0::/\n"
    assert look(tree(f"{V2.format(root='/')}\n{V1.format(root='/')}", named, files)) == Usage(11, 4096, 4, None)


def test_version_1_in_a_container_is_mounted_from_its_own_cgroup(tree: Callable[..., Path]) -> None:
    files = {"memory/memory.usage_in_bytes": "3\n", "memory/memory.limit_in_bytes": "5\n"}
    root = tree(V1.format(root="/docker/0a"), "4:memory:/docker/0a\n", files)
    assert look(root) == Usage(3, 5, None, None)  # an old kernel, whose oom_control has no counter
    assert (
        look(tree(V1.format(root="/docker/0a"), "4:memory:/docker/0b\n", {}))
        == "its memory cgroup cannot be seen from here"
    )


@pytest.mark.parametrize(
    ("mounts", "named", "why"),
    [
        ("", "0::/job\n", "the v2 memory cgroups are not mounted"),
        (V2.format(root="/"), "", "it is in no memory cgroup"),
        (V2.format(root="/"), "0::/../other\n", "its memory cgroup cannot be seen from here"),
        (V2.format(root="/"), "0::/\n", "its memory cgroup cannot be seen from here"),  # the root accounts for nothing
        ("garbage - x\n\x00", "4:memory\n::\nx", "the v1 memory cgroups are not mounted"),
    ],
)
def test_none(tree: Callable[..., Path], mounts: str, named: str, why: str) -> None:
    assert look(tree(mounts, named, {})) == why


def test_a_process_that_is_gone_and_a_cgroup_that_is_gone(tmp_path: Path) -> None:
    assert cgroup.find(7, root=str(tmp_path)) == "its cgroup cannot be read"
    assert cgroup.read(Place("v2", str(tmp_path / "gone"), str(tmp_path))) is None


def test_garbage_in_the_files_is_unknown(tree: Callable[..., Path]) -> None:
    files = {"memory.current": "-1\n", "memory.max": "१\n", "memory.events": "oom_kill x\noom\n\n"}
    assert look(tree(V2.format(root="/"), "0::/\n", files)) == Usage(None, None, None, None)


def test_a_real_one_counts_a_real_kill() -> None:
    with (
        memory_group(64 << 20) as enter,
        subprocess.Popen([*enter, sys.executable, "-c", EATER], stdin=subprocess.PIPE) as process,
    ):
        assert process.stdin is not None
        wait_until(lambda: inside(process.pid), what="the shell to have moved")
        place = cgroup.find(process.pid)
        assert isinstance(place, Place)
        before = cgroup.read(place)
        process.stdin.write(b"\n")
        process.stdin.close()
        assert process.wait(30) == -signal.SIGKILL
        after = cgroup.read(place)
        assert before is not None
        assert after is not None
        assert before.limit_bytes == 64 << 20
        assert (before.oom_kills, after.oom_kills) == (0, 1)
        assert os.path.isdir(place.folder)
    assert cgroup.read(place) is None
